/// Writes JSON into a buffer that is used again and again; commas come by themselves.
package struct JSONWriter: Sendable {
  package var bytes: [UInt8]
  private var needsComma = false

  package init(appendingTo bytes: consuming [UInt8] = []) {
    self.bytes = bytes
  }

  // MARK: Structure

  package mutating func beginObject() {
    separate()
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
  }

  package mutating func endObject() {
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  /// An object as an element, or as the whole.
  package mutating func object(_ content: (inout JSONWriter) -> Void) {
    beginObject()
    content(&self)
    endObject()
  }

  package mutating func object(_ name: String, _ content: (inout JSONWriter) -> Void) {
    key(name)
    object(content)
  }

  package mutating func array(_ name: String, _ content: (inout JSONWriter) -> Void) {
    key(name)
    array(content)
  }

  package mutating func array(_ content: (inout JSONWriter) -> Void) {
    separate()
    bytes.append(UInt8(ascii: "["))
    needsComma = false
    content(&self)
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  package mutating func newline() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  /// Members that were encoded before, from a comma-separated piece that is not empty.
  package mutating func members(_ encoded: ArraySlice<UInt8>) {
    separate()
    bytes.append(contentsOf: encoded)
    needsComma = true
  }

  // MARK: Members

  package mutating func field(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  package mutating func field(_ name: String, _ value: Int) {
    key(name)
    bytes.appendDecimal(value)
    needsComma = true
  }

  package mutating func field(_ name: String, _ value: Bool) {
    key(name)
    raw(value ? Self.true : Self.false)
  }

  package mutating func field(_ name: String, _ value: ReceiptID) {
    key(name)
    bytes.append(UInt8(ascii: "\""))
    value.append(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  package mutating func field(_ name: String, _ value: String?) {
    if let value { field(name, value) } else { null(name) }
  }

  package mutating func field(_ name: String, _ value: Int?) {
    if let value { field(name, value) } else { null(name) }
  }

  package mutating func field(_ name: String, _ value: JSONValue) {
    key(name)
    self.value(value)
  }

  /// A duration in milliseconds with one decimal.
  package mutating func milliseconds(_ name: String, nanoseconds: Int64) {
    tenths(name, Int(max(nanoseconds, 0) / 100_000))
  }

  /// A number that is given in tenths.
  package mutating func tenths(_ name: String, _ tenths: Int) {
    key(name)
    bytes.appendDecimal(tenths / 10)
    bytes.append(UInt8(ascii: "."))
    bytes.append(UInt8(ascii: "0") + UInt8(tenths % 10))
    needsComma = true
  }

  /// Bytes as base64.
  package mutating func base64(_ name: String, _ content: Span<UInt8>) {
    key(name)
    bytes.append(UInt8(ascii: "\""))
    bytes.appendBase64(content)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  package mutating func null(_ name: String) {
    key(name)
    raw(Self.null)
  }

  // MARK: Elements

  package mutating func element(_ value: String) {
    separate()
    string(value)
  }

  package mutating func element(_ value: JSONValue) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
    self.value(value)
  }

  // MARK: Pieces

  private static let `true` = Array("true".utf8)
  private static let `false` = Array("false".utf8)
  private static let null = Array("null".utf8)

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  private mutating func key(_ name: String) {
    separate()
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func string(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    bytes.appendEscaped(value)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  private mutating func raw(_ encoded: [UInt8]) {
    bytes.append(contentsOf: encoded)
    needsComma = true
  }

  private mutating func value(_ value: JSONValue) {
    switch value {
    case .null: raw(Self.null)
    case .bool(let value): raw(value ? Self.true : Self.false)
    case .integer(let value): raw(Array("\(value)".utf8))
    case .number(let value): raw(value.isFinite ? Array("\(value)".utf8) : Self.null)
    case .string(let value): string(value)
    case .array(let elements): array { writer in for one in elements { writer.element(one) } }
    case .object(let members):
      object { writer in for one in members { writer.field(one.key, one.value) } }
    }
  }
}
