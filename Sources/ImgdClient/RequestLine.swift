/// One request on its way to being a line.
package struct RequestLine {
  private var text: [UInt8]

  /// Begins a request with its command.
  package init(_ command: String) {
    text = Array("{\"cmd\":".utf8)
    append(command)
  }

  /// The whole line, without its end.
  package var bytes: [UInt8] { text + [UInt8(ascii: "}")] }

  /// Adds a field with a text; nothing where there is none.
  package mutating func add(_ field: String, _ value: String?) {
    guard let value else { return }
    appendName(field)
    append(value)
  }

  /// Adds a field with a number; nothing where there is none.
  package mutating func add(_ field: String, _ value: Int?) {
    guard let value else { return }
    appendName(field)
    text += String(value).utf8
  }

  /// Adds a field that is true or false.
  package mutating func add(_ field: String, _ value: Bool) {
    appendName(field)
    text += (value ? "true" : "false").utf8
  }

  /// Adds a field with a list of texts.
  package mutating func add(_ field: String, _ values: [String]) {
    appendName(field)
    text.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      append(value)
    }
    text.append(UInt8(ascii: "]"))
  }

  /// Adds a field with an object of texts.
  package mutating func add(_ field: String, _ values: [(name: String, value: String)]) {
    appendName(field)
    text.append(UInt8(ascii: "{"))
    for (index, pair) in values.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      append(pair.name)
      text.append(UInt8(ascii: ":"))
      append(pair.value)
    }
    text.append(UInt8(ascii: "}"))
  }

  private mutating func appendName(_ field: String) {
    text.append(UInt8(ascii: ","))
    append(field)
    text.append(UInt8(ascii: ":"))
  }

  private mutating func append(_ string: String) {
    text.append(UInt8(ascii: "\""))
    for byte in string.utf8 { appendEscaped(byte) }
    text.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
    case 0..<0x20:
      let digits = Array("0123456789abcdef".utf8)
      text += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    default: text.append(byte)
    }
  }
}
