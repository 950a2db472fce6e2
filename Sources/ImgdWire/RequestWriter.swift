// Default values are left out, and the order is always the same: so the lines of a client have few shapes, and the
// daemon answers most hits without parsing.

extension Request {
  /// The line of this request, without its newline.
  package func line(id: RequestID = .none) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.field(.cmd, command.rawValue)
    ReplyEncoder.field(id, into: &json)
    writeFields(to: &json)
    json.endObject()
    return json.bytes
  }

  private func writeFields(to json: inout JSONWriter) {
    switch self {
    case .fetch(let fetch): fetch.write(to: &json)
    case .cancel(let target): target.write(to: &json)
    case .wait(let wait):
      json.field(.receipt, wait.receipt.description)
      json.field(.deliver, wait.delivery?.rawValue)
    case .list(let page), .slots(let page): page.write(to: &json, usual: PageRequest())
    case .purge(let purge): purge.write(to: &json)
    case .query(let query):
      json.field(.url, query.url)
      json.field(.identifier, query.identifier)
      json.flag(.describe, query.describe)
    case .entries(let entries):
      json.word(.tier, entries.tier, usual: .memory)
      json.field(.prefix, entries.prefix)
      entries.page.write(to: &json, usual: EntriesRequest().page)
    // All topics by name: a later daemon may have others.
    case .subscribe(let topics): json.texts(.events, topics.names)
    case .stats, .hello, .ping, .config, .reload: break
    }
  }
}

extension CancelTarget {
  fileprivate func write(to json: inout JSONWriter) {
    switch self {
    case .receipt(let receipt): json.field(.receipt, receipt.description)
    case .slot(let slot): json.field(.slot, slot)
    case .tag(let tag): json.field(.tag, tag)
    case .all: json.flag(.all, true)
    }
  }
}

extension PageRequest {
  fileprivate func write(to json: inout JSONWriter, usual: PageRequest) {
    if limit != usual.limit { json.field(.limit, limit) }
    json.field(.cursor, cursor)
  }
}

extension PurgeRequest {
  fileprivate func write(to json: inout JSONWriter) {
    json.field(.url, url)
    json.field(.identifier, identifier)
    json.field(.prefix, prefix)
    json.field(.host, host)
    json.field(.tag, tag)
    json.word(.tier, tier, usual: .all)
    json.field(.olderThan, olderThan)
    json.field(.unusedFor, unusedFor)
    json.flag(.expired, expired)
    json.flag(.soft, soft)
  }
}

extension PictureForm {
  func write(to json: inout JSONWriter) {
    if let box { box.write(to: &json) }
    json.word(.format, format, usual: .original)
    json.field(.quality, quality)
    json.word(.frames, frames, usual: .all)
  }
}

extension PictureForm.Box {
  fileprivate func write(to json: inout JSONWriter) {
    json.name(RequestField.resize.name)
    json.beginObject()
    if let width { json.field("width", width) }
    if let height { json.field("height", height) }
    if fit != .contain { json.field("fit", fit.rawValue) }
    if crop != .centre { json.field("crop", crop.rawValue) }
    if enlarge { json.field("enlarge", true) }
    if linear { json.field("linear", true) }
    json.endObject()
  }
}

extension JSONWriter {
  /// A string, unless there is none.
  mutating func field(_ field: RequestField, _ value: String?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  /// A whole number, unless there is none.
  mutating func field(_ field: RequestField, _ value: Int?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  /// An array of strings.
  mutating func texts(_ field: RequestField, _ values: [String]) {
    name(field.name)
    beginArray()
    for value in values { self.value(value) }
    endArray()
  }

  /// A flag, unless it has its usual value.
  mutating func flag(_ field: RequestField, _ value: Bool, usual: Bool = false) {
    guard value != usual else { return }
    name(field.name)
    self.value(value)
  }

  /// A word, unless it is the usual one.
  mutating func word<Word: RawRepresentable<String> & Equatable>(_ field: RequestField, _ value: Word, usual: Word) {
    if value != usual { self.field(field, value.rawValue) }
  }
}
