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
    if let value { writer.field(field, value) }
  }

  /// Adds a field with a number; nothing where there is none.
  package mutating func add(_ field: String, _ value: Int?) {
    if let value { writer.field(field, value) }
  }

  /// Adds a field that is true or false.
  package mutating func add(_ field: String, _ value: Bool) {
    writer.field(field, value)
  }

  /// Adds a field with a list of texts.
  package mutating func add(_ field: String, _ values: [String]) {
    writer.array(field) { list in
      for value in values { list.element(value) }
    }
  }

  /// Adds a field with an object of texts.
  package mutating func add(_ field: String, _ values: [(name: String, value: String)]) {
    writer.object(field) { object in
      for pair in values { object.field(pair.name, pair.value) }
    }
  }
}
