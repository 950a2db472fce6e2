// Containers whose ends cannot be forgotten.

extension JSONWriter {
  /// An object as a value.
  package mutating func object(_ content: (inout JSONWriter) -> Void) {
    beginObject()
    content(&self)
    endObject()
  }

  /// An object as a field.
  package mutating func object(_ name: StaticString, _ content: (inout JSONWriter) -> Void) {
    self.name(name)
    object(content)
  }

  /// An array as a field.
  package mutating func array(_ name: StaticString, _ content: (inout JSONWriter) -> Void) {
    beginArray(name)
    content(&self)
    endArray()
  }
}

extension JSONWriter {
  /// Fields that were encoded before, by a writer of their own.
  package mutating func fields(raw encoded: [UInt8]) {
    separate()
    bytes.append(contentsOf: encoded)
  }
}
