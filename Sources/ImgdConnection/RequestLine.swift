package import ImgdWire

/// Builds the line of one request.
package struct RequestLine: Sendable {
  private var writer = JSONWriter()

  /// Begins a request for a command.
  package init(_ command: String) {
    writer.beginObject()
    writer.field("cmd", command)
  }

  /// Begins the request for a picture.
  package init(_ fetch: FetchRequest, id: RequestID = .none) {
    writer.beginObject()
    fetch.write(to: &writer, id: id)
  }

  /// The complete line, without its newline.
  package var bytes: [UInt8] {
    var whole = writer
    whole.endObject()
    return whole.bytes
  }

  /// Adds a field with a string, unless the value is nil.
  package mutating func add(_ field: String, _ value: String?) {
    guard let value else { return }
    writer.name(field)
    writer.value(value)
  }

  /// Adds a field with a number, unless the value is nil.
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

  /// Adds a field with an array of strings.
  package mutating func add(_ field: String, _ values: [String]) {
    writer.name(field)
    writer.beginArray()
    for value in values { writer.value(value) }
    writer.endArray()
  }
}
