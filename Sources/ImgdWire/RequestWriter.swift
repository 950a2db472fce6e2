// Defaults are left out and the order is fixed: lines have few shapes, and most hits are answered without parsing.

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
    case .put(let put):
      json.field(.url, put.url)
      json.field(.ttl, put.ttl)
      if !put.tags.isEmpty { json.texts(.tags, put.tags) }
      json.field(.audience, put.isForAll ? "all" : nil)
      json.field(.data, put.data)
    case .cancel(.receipt(let receipt)): json.field(.receipt, receipt.description)
    case .cancel(.slot(let slot)): json.field(.slot, slot)
    case .cancel(.tag(let tag)): json.field(.tag, tag)
    case .cancel(.all): json.flag(.all, true)
    case .wait(let wait):
      json.field(.receipt, wait.receipt.description)
      json.field(.deliver, wait.delivery?.rawValue)
    case .list(let page), .slots(let page), .origins(let page), .clients(let page), .failures(let page),
      .fleet(let page):
      page.write(to: &json, usual: PageRequest())
    case .purge(let purge):
      json.field(.url, purge.url)
      json.field(.identifier, purge.identifier)
      json.field(.prefix, purge.prefix)
      json.field(.host, purge.host)
      json.field(.tag, purge.tag)
      json.word(.tier, purge.tier, usual: .all)
      json.field(.olderThan, purge.olderThan)
      json.field(.unusedFor, purge.unusedFor)
      json.flag(.expired, purge.expired)
      json.flag(.soft, purge.soft)
    case .query(let query):
      json.field(.url, query.url)
      json.field(.identifier, query.identifier)
      json.flag(.describe, query.describe)
    case .entries(let entries):
      json.word(.tier, entries.tier, usual: .memory)
      json.field(.url, entries.url)
      json.field(.prefix, entries.prefix)
      json.field(.part, entries.part)
      entries.page.write(to: &json, usual: EntriesRequest().page)
    // All topics by name: a later daemon may have others.
    case .subscribe(let topics): json.texts(.events, topics.names)
    case .stats, .hello, .ping, .config, .reload: break
    }
  }
}

extension PageRequest {
  fileprivate func write(to json: inout JSONWriter, usual: PageRequest) {
    if limit != usual.limit { json.field(.limit, limit) }
    json.field(.cursor, cursor)
  }
}

extension PictureForm {
  func write(to json: inout JSONWriter) {
    if let box {
      json.name(RequestField.resize.name)
      box.write(to: &json)
    }
    json.formats(formats)
    json.field(.quality, quality)
    json.field(.encodedBytes, mostBytes)
    json.word(.frames, frames, usual: .auto)
    json.word(.layout, layout, usual: .rgba8)
  }
}

extension JSONWriter {
  mutating func field(_ field: RequestField, _ value: String?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  mutating func field(_ field: RequestField, _ value: Int?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  mutating func texts(_ field: RequestField, _ values: [String]) {
    name(field.name)
    beginArray()
    for value in values { self.value(value) }
    endArray()
  }

  mutating func flag(_ field: RequestField, _ value: Bool, usual: Bool = false) {
    guard value != usual else { return }
    name(field.name)
    self.value(value)
  }

  mutating func word<Word: RawRepresentable<String> & Equatable>(_ field: RequestField, _ value: Word, usual: Word) {
    if value != usual { self.field(field, value.rawValue) }
  }
}
