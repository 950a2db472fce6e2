/// Appends JSON to bytes that it owns, and sets the commas. Field names are static strings of the program and are
/// written as they are. The writer does not check that every container is closed.
package struct JSONWriter: Sendable {
  /// The text so far.
  package var bytes: [UInt8]
  private var needsComma = false

  /// Appends to `bytes`, which are taken over without copying.
  package init(appendingTo bytes: consuming [UInt8] = []) { self.bytes = bytes }

  /// Begins with room for so many bytes.
  package init(room: Int) {
    bytes = []
    bytes.reserveCapacity(room)
  }

  /// Ends a line: the next value stands on its own.
  package mutating func newline() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }
}

// MARK: Containers

extension JSONWriter {
  /// Opens an object as an element or as the value of the name before.
  package mutating func beginObject() { open(UInt8(ascii: "{")) }

  /// Opens an object as a field.
  package mutating func beginObject(_ name: StaticString) {
    self.name(name)
    open(UInt8(ascii: "{"))
  }

  /// Closes the object that was opened last.
  package mutating func endObject() { close(UInt8(ascii: "}")) }

  /// Opens an array as an element or as the value of the name before.
  package mutating func beginArray() { open(UInt8(ascii: "[")) }

  /// Opens an array as a field.
  package mutating func beginArray(_ name: StaticString) {
    self.name(name)
    open(UInt8(ascii: "["))
  }

  /// Closes the array that was opened last.
  package mutating func endArray() { close(UInt8(ascii: "]")) }

  /// An object as a value, closed after `content`.
  package mutating func object(_ content: (inout JSONWriter) -> Void) {
    beginObject()
    content(&self)
    endObject()
  }

  /// An object as a field, closed after `content`.
  package mutating func object(_ name: StaticString, _ content: (inout JSONWriter) -> Void) {
    self.name(name)
    object(content)
  }

  /// An array as a field, closed after `content`.
  package mutating func array(_ name: StaticString, _ content: (inout JSONWriter) -> Void) {
    beginArray(name)
    content(&self)
    endArray()
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  /// Writes the comma that is due before another value.
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}

// MARK: Values

extension JSONWriter {
  /// A field name that the program knows; its value comes next.
  package mutating func name(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.appendText(name)
    bytes.appendText("\":")
    needsComma = false
  }

  /// A field name from outside, escaped; its value comes next.
  package mutating func name(_ name: String) {
    value(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// A string, quoted and escaped.
  package mutating func value(_ string: String) {
    separate()
    bytes.appendString(string)
  }

  /// A string literal of the program that needs no escapes.
  package mutating func value(static text: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.appendText(text)
    bytes.append(UInt8(ascii: "\""))
  }

  /// A whole number of either sign.
  package mutating func value(_ number: Int) {
    separate()
    bytes.appendInteger(Int64(number))
  }

  /// `true` or `false`.
  package mutating func value(_ bool: Bool) {
    separate()
    bytes.appendText(bool ? "true" : "false")
  }

  /// The shortest text that reads back as the same double; null where it is not finite.
  package mutating func value(_ number: Double) {
    guard number.isFinite else { return null() }
    separate()
    bytes.append(contentsOf: number.description.utf8)
  }

  /// A duration in milliseconds with one decimal.
  package mutating func value(millisecondsOf microseconds: UInt64) {
    separate()
    bytes.appendMilliseconds(microseconds: microseconds)
  }

  /// `null`.
  package mutating func null() {
    separate()
    bytes.appendText("null")
  }

  /// Bytes as a string in base64.
  package mutating func value(base64 data: Span<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    Base64.append(data, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// A whole tree.
  package mutating func value(_ json: JSONValue) {
    switch json {
    case .null: null()
    case .bool(let bool): value(bool)
    case .integer(let integer): value(Int(integer))
    case .number(let number): value(number)
    case .string(let string): value(string)
    case .array(let items):
      beginArray()
      for item in items { value(item) }
      endArray()
    case .object(let members): object(members)
    }
  }

  /// A whole object in the order of its members.
  package mutating func object(_ members: [JSONValue.Member]) {
    beginObject()
    for member in members {
      name(member.name)
      value(member.value)
    }
    endObject()
  }
}

// MARK: Fields: a name and its value in one call

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

  /// `true` or `false`.
  package mutating func field(_ name: StaticString, _ value: Bool) {
    self.name(name)
    self.value(value)
  }

  /// A receipt in its canonical text.
  package mutating func field(_ name: StaticString, _ receipt: ReceiptID) {
    self.name(name)
    value(receipt.description)
  }

  /// A field that is null.
  package mutating func fieldNull(_ name: StaticString) {
    self.name(name)
    null()
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

  /// JSON that another writer has encoded: a value, or fields without braces.
  package mutating func encoded(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
  }
}
