import ImgdWire

/// One request on its way to being a line.
package struct RequestLine {
  private var writer = JSONWriter()

  /// Begins a request with its command.
  package init(_ command: String) {
    writer.beginObject()
    writer.field("cmd", command)
  }

  /// The whole line, without its end.
  package var bytes: [UInt8] {
    var whole = writer
    whole.endObject()
    return whole.bytes
  }

  /// Adds a field with a text; nothing where there is none.
  package mutating func add(_ field: String, _ value: String?) {
    guard let value else { return }
    writer.name(field)
    writer.value(value)
  }

  /// Adds a field with a number; nothing where there is none.
  package mutating func add(_ field: String, _ value: Int?) {
    guard let value else { return }
    writer.name(field)
    writer.value(value)
  }

  /// Adds a field that is true or false.
  package mutating func add(_ field: String, _ value: Bool) {
    writer.name(field)
    writer.value(value)
  }

  /// Adds a field with a list of texts.
  package mutating func add(_ field: String, _ values: [String]) {
    writer.name(field)
    writer.beginArray()
    for value in values { writer.value(value) }
    writer.endArray()
  }

  /// Adds a field with an object of texts.
  package mutating func add(_ field: String, _ values: [(name: String, value: String)]) {
    writer.name(field)
    writer.beginObject()
    for pair in values { add(pair.name, pair.value) }
    writer.endObject()
  }
}
