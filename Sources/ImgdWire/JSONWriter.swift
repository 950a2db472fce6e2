/// Appends JSON to bytes that it owns and that are reused from line to line; commas set themselves.
///
/// Names of fields are static strings of the program and are written as they are. The writer does
/// not check that what is begun is ended.
package struct JSONWriter: Sendable {
  /// What has been written so far.
  package var bytes: [UInt8]
  private var needsComma = false

  /// Goes on behind what `bytes` holds, which is taken over without copying.
  package init(appendingTo bytes: consuming [UInt8] = []) {
    self.bytes = bytes
  }

  /// Forgets what was written and keeps the room for it.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Ends a line: the next value stands on its own.
  package mutating func newline() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  /// The quoted and escaped form of a string, to be kept and written as `raw` many times.
  package static func escaped(_ string: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendString(string)
    return bytes
  }
}

// MARK: Containers

extension JSONWriter {
  /// Opens an object as an element or as the value of the name before.
  package mutating func beginObject() {
    open(UInt8(ascii: "{"))
  }

  /// Opens an object as a field.
  package mutating func beginObject(_ name: StaticString) {
    self.name(name)
    open(UInt8(ascii: "{"))
  }

  /// Closes the object that was opened last.
  package mutating func endObject() {
    close(UInt8(ascii: "}"))
  }

  /// Opens an array as an element or as the value of the name before.
  package mutating func beginArray() {
    open(UInt8(ascii: "["))
  }

  /// Opens an array as a field.
  package mutating func beginArray(_ name: StaticString) {
    self.name(name)
    open(UInt8(ascii: "["))
  }

  /// Closes the array that was opened last.
  package mutating func endArray() {
    close(UInt8(ascii: "]"))
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

  /// The comma that is due before another value.
  mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}

// MARK: Values

extension JSONWriter {
  /// A name that the program knows; its value comes next.
  package mutating func name(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.appendText(name)
    bytes.appendText("\":")
    needsComma = false
  }

  /// A name from outside, escaped; its value comes next.
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

  /// Text that stands in the program and needs no escapes.
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

  /// A whole number up to the largest counter.
  package mutating func value(_ number: UInt64) {
    separate()
    bytes.appendInteger(number)
  }

  /// One of the words true and false.
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

  /// The word that stands for nothing.
  package mutating func null() {
    separate()
    bytes.appendText("null")
  }

  /// A value that is JSON already.
  package mutating func value(raw json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
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
