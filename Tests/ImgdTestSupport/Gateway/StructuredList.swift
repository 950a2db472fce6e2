import ImgdWire

/// A list of a structured field (RFC 8941, 4.2.1), read by its algorithm: whatever breaks a rule is an error.
package struct StructuredList: Equatable {
  package enum Item: Equatable {
    case integer(Int)
    case decimal(Double)
    case string(String)
    case token(String)
    case bytes([UInt8])
    case flag(Bool)
  }

  package enum Value: Equatable {
    case item(Item)
    case inner([Member])
  }

  package struct Member: Equatable {
    package let value: Value
    /// The last value of each, in the order of their first.
    package let parameters: [(key: String, value: Item)]

    package static func == (left: Member, right: Member) -> Bool {
      left.value == right.value && left.parameters.map(\.key) == right.parameters.map(\.key)
        && left.parameters.map(\.value) == right.parameters.map(\.value)
    }

    package subscript(_ key: String) -> Item? { parameters.first { $0.key == key }?.value }
  }

  package let members: [Member]

  package init(_ text: String) throws {
    var reader = Reader(bytes: Array(text.utf8))
    members = try reader.list()
  }
}

private struct Reader {
  let bytes: [UInt8]
  var index = 0

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private func wrong(_ what: String) -> TestFailure {
    TestFailure("\(what) at byte \(index) of \(String(decoding: bytes, as: UTF8.self))")
  }

  private mutating func take(_ letter: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: letter) else { return false }
    index += 1
    return true
  }

  private mutating func takeAll(where isTaken: (UInt8) -> Bool) -> String {
    let start = index
    while let byte = next, isTaken(byte) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  mutating func list() throws -> [StructuredList.Member] {
    _ = takeAll { $0 == 0x20 }
    var members: [StructuredList.Member] = []
    while next != nil {
      members.append(try member())
      _ = takeAll { $0 == 0x20 || $0 == 0x09 }
      guard next != nil else { return members }
      guard take(",") else { throw wrong("no comma") }
      _ = takeAll { $0 == 0x20 || $0 == 0x09 }
      guard next != nil else { throw wrong("a comma at the end") }
    }
    return members
  }

  private mutating func member() throws -> StructuredList.Member {
    guard take("(") else { return StructuredList.Member(value: .item(try item()), parameters: try parameters()) }
    var items: [StructuredList.Member] = []
    while true {
      _ = takeAll { $0 == 0x20 }
      if take(")") { return StructuredList.Member(value: .inner(items), parameters: try parameters()) }
      items.append(StructuredList.Member(value: .item(try item()), parameters: try parameters()))
      guard next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else { throw wrong("no end of an item") }
    }
  }

  private mutating func parameters() throws -> [(key: String, value: StructuredList.Item)] {
    var found: [(key: String, value: StructuredList.Item)] = []
    while take(";") {
      _ = takeAll { $0 == 0x20 }
      guard let first = next, Self.isLower(first) || first == UInt8(ascii: "*") else { throw wrong("no key") }
      let key = takeAll { Self.isLower($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }
      let value = take("=") ? try item() : .flag(true)
      if let place = found.firstIndex(where: { $0.key == key }) {
        found[place].value = value
      } else {
        found.append((key, value))
      }
    }
    return found
  }

  private mutating func item() throws -> StructuredList.Item {
    guard let first = next else { throw wrong("no item") }
    switch first {
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "\""): return try string()
    case UInt8(ascii: "*"),
      _ where Self.isLetter(first):
      return .token(takeAll { Self.isTokenByte($0) })
    case UInt8(ascii: ":"):
      index += 1
      let text = takeAll { $0 != UInt8(ascii: ":") }
      guard take(":"), let bytes = Base64.decode(text) else { throw wrong("no base64") }
      return .bytes(bytes)
    case UInt8(ascii: "?"):
      index += 1
      if take("1") { return .flag(true) }
      guard take("0") else { throw wrong("no boolean") }
      return .flag(false)
    default: throw wrong("no item")
    }
  }

  private mutating func number() throws -> StructuredList.Item {
    let sign = take("-") ? -1 : 1
    let whole = takeAll(where: Self.isDigit)
    guard !whole.isEmpty else { throw wrong("no digits") }
    guard take(".") else {
      guard whole.utf8.count <= 15, let value = Int(whole) else { throw wrong("a number that is too long") }
      return .integer(sign * value)
    }
    let rest = takeAll(where: Self.isDigit)
    guard whole.utf8.count <= 12, 1...3 ~= rest.utf8.count, let value = Double("\(whole).\(rest)") else {
      throw wrong("no decimal")
    }
    return .decimal(Double(sign) * value)
  }

  private mutating func string() throws -> StructuredList.Item {
    index += 1
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: text, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = next, "\"\\".utf8.contains(escaped) else { throw wrong("no escape") }
        index += 1
        text.append(escaped)
      case 0x20...0x7e: text.append(byte)
      default: throw wrong("no letter of a string")
      }
    }
    throw wrong("no end of a string")
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
  private static func isLower(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte }
  private static func isLetter(_ byte: UInt8) -> Bool { isLower(byte | 0x20) }
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
  }
}
