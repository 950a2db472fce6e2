// What is as it is by default is left out, and the order is always the same: so the lines of a client have few
// shapes, and the daemon answers most hits without parsing.

extension FetchRequest {
  /// Writes the fields of the line that asks for it, without braces: a client may add an id or a receipt of its own.
  package func write(to json: inout JSONWriter, id: RequestID = .none) {
    json.field(.cmd, Request.Command.fetch.rawValue)
    switch id {
    case .none: break
    case .integer(let number): json.field(.id, Int(number))
    case .string(let string): json.field(.id, string)
    }
    json.field(.url, url)
    json.flag(.progress, progress)
    json.flag(.events, events)
    json.word(.cache, cache, usual: .default_)
    json.word(.deliver, delivery, usual: .path)
    form.write(to: &json)
    json.flag(.describe, describe)
    json.word(.store, store, usual: .all)
    json.field(.identifier, identifier)
    json.word(.priority, priority, usual: .normal)
    json.flag(.wait, wait, usual: true)
    json.flag(.detach, detach)
    json.flag(.http, http)
    if hasExtras { extras.write(to: &json) }
  }
}

extension FetchExtras {
  /// Writes the fields that say nothing about the form of the picture.
  fileprivate func write(to json: inout JSONWriter) {
    json.field(.ttl, ttl)
    json.field(.timeoutMilliseconds, timeoutMilliseconds)
    json.field(.maxBytes, maxBytes)
    if !tags.isEmpty {
      json.name(RequestField.tags.name)
      json.beginArray()
      for tag in tags { json.value(tag) }
      json.endArray()
    }
    if !headers.isEmpty {
      json.name(RequestField.headers.name)
      json.beginObject()
      for header in headers {
        json.name(header.name)
        json.value(header.value)
      }
      json.endObject()
    }
    json.field(.slot, slot)
    json.field(.share, share)
    json.field(.receipt, receipt?.description)
  }
}

extension PictureForm {
  fileprivate func write(to json: inout JSONWriter) {
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
  fileprivate mutating func field(_ field: RequestField, _ value: String?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  /// A whole number, unless there is none.
  fileprivate mutating func field(_ field: RequestField, _ value: Int?) {
    guard let value else { return }
    name(field.name)
    self.value(value)
  }

  /// A flag, unless it is as usual.
  fileprivate mutating func flag(_ field: RequestField, _ value: Bool, usual: Bool = false) {
    guard value != usual else { return }
    name(field.name)
    self.value(value)
  }

  /// A word, unless it is the usual one.
  fileprivate mutating func word<Word: RawRepresentable<String> & Equatable>(
    _ field: RequestField, _ value: Word, usual: Word
  ) {
    if value != usual { self.field(field, value.rawValue) }
  }
}
