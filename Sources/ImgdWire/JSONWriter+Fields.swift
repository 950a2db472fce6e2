/// A name and its value in one call.
extension JSONWriter {
  /// A string, quoted and escaped.
  package mutating func field(_ name: StaticString, _ value: String) {
    self.name(name)
    self.value(value)
  }

  /// A string, or null where there is none.
  package mutating func field(_ name: StaticString, _ value: String?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  /// A whole number of either sign.
  package mutating func field(_ name: StaticString, _ value: Int) {
    self.name(name)
    self.value(value)
  }

  /// A whole number, or null where there is none.
  package mutating func field(_ name: StaticString, _ value: Int?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  /// A whole number up to the largest counter.
  package mutating func field(_ name: StaticString, _ value: UInt64) {
    self.name(name)
    self.value(value)
  }

  /// One of the words true and false.
  package mutating func field(_ name: StaticString, _ value: Bool) {
    self.name(name)
    self.value(value)
  }

  /// The shortest text of a double; null where it is not finite.
  package mutating func field(_ name: StaticString, _ value: Double) {
    self.name(name)
    self.value(value)
  }

  /// A whole tree.
  package mutating func field(_ name: StaticString, _ value: JSONValue) {
    self.name(name)
    self.value(value)
  }

  /// A receipt in its canonical text.
  package mutating func field(_ name: StaticString, _ receipt: ReceiptID) {
    self.name(name)
    value(receipt.description)
  }

  /// A name with nothing under it.
  package mutating func fieldNull(_ name: StaticString) {
    self.name(name)
    null()
  }

  /// A value that is JSON already.
  package mutating func field(_ name: StaticString, raw json: [UInt8]) {
    self.name(name)
    value(raw: json)
  }

  /// Bytes as a string in base64.
  package mutating func field(_ name: StaticString, base64 data: Span<UInt8>) {
    self.name(name)
    value(base64: data)
  }

  /// A duration in milliseconds with one decimal.
  package mutating func field(_ name: StaticString, millisecondsOf microseconds: UInt64) {
    self.name(name)
    value(millisecondsOf: microseconds)
  }

  /// A moment as RFC 3339 in UTC.
  package mutating func field(_ name: StaticString, timestamp epochSeconds: Int64) {
    self.name(name)
    value(Timestamp.rfc3339(epochSeconds))
  }
}
