import Glibc
import ImgdSystem
import ImgdWords

extension ValueFormat
where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration.
  static var word: Self {
    Self { text throws(WrongValue) in
      if let value = Value(rawValue: text) { return value }
      throw WrongValue("is not valid: write \(alternatives(Value.allCases.map(\.rawValue)))")
    } text: {
      $0.rawValue
    }
  }

  /// Several of these words, separated by blanks or commas; duplicates count once.
  static var words: ValueFormat<[Value]> {
    ValueFormat<[Value]> { text throws(WrongValue) in
      var values: [Value] = []
      for item in items(of: text) {
        guard let value = Value(rawValue: item) else {
          let all = Value.allCases.map(\.rawValue)
          throw WrongValue("contains '\(shown(item))': \(suggestion(for: item, among: all))")
        }
        if !values.contains(where: { $0.rawValue == item }) { values.append(value) }
      }
      return values
    } text: {
      $0.map(\.rawValue).joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == String {
  /// An absolute path of limited length.
  static func path(longest: Int) -> Self {
    Self { text throws(WrongValue) in
      guard text.hasPrefix("/") else {
        throw WrongValue("is not an absolute path: begin with /")
      }
      return try plain(text, longest: longest)
    } text: {
      $0
    }
  }

  /// The value of a header: printable ASCII.
  static var headerValue: Self {
    Self { text throws(WrongValue) in
      guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
        throw WrongValue("is not valid in a header: write only printable ASCII characters")
      }
      return try plain(text, longest: 256)
    } text: {
      $0
    }
  }

  private static func plain(_ text: String, longest: Int) throws(WrongValue) -> String {
    guard text.utf8.count <= longest else {
      throw WrongValue("is too long: write at most \(longest) bytes")
    }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw WrongValue("contains a control character: leave it out")
    }
    // In a file a backslash at the end would continue the line.
    guard !text.hasSuffix("\\") else {
      throw WrongValue("ends in a backslash: leave it out")
    }
    return text
  }
}

extension ValueFormat where Value == [String] {
  /// Names of header fields, separated by blanks or commas; they are kept in lower case.
  static var fieldNames: Self {
    Self { text throws(WrongValue) in
      let names = items(of: text).map { $0.lowercased() }
      for name in names where !isFieldName(name) {
        throw WrongValue("contains '\(shown(name))', which is not a header name")
      }
      return names
    } text: {
      $0.joined(separator: " ")
    }
  }

  /// Networks as address and prefix length, separated by blanks or commas.
  static var networks: Self {
    Self { text throws(WrongValue) in
      let networks = items(of: text)
      for network in networks where !isNetwork(network) {
        let subject = networks.count == 1 ? "is" : "contains '\(shown(network))', which is"
        throw WrongValue(
          "\(subject) not a network: write address/prefix, such as 10.0.0.0/8 or fd00::/8")
      }
      return networks
    } text: {
      $0.joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == String? {
  /// `none`, or a proxy as `http://host:port`.
  static var proxy: Self {
    Self { text throws(WrongValue) in
      if text == "none" { return nil }
      guard isProxy(text) else {
        throw WrongValue("is not a proxy: write none, or http://host:port")
      }
      return text
    } text: {
      $0 ?? "none"
    }
  }
}

/// The words of a list that is separated by blanks or commas.
private func items(of text: String) -> [String] {
  text.split { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init)
}

private func isFieldName(_ text: String) -> Bool {
  text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

/// Whether a text is an IPv4 or IPv6 address with a slash and a valid prefix length.
private func isNetwork(_ text: String) -> Bool {
  let parts = text.split(separator: "/", omittingEmptySubsequences: false)
  guard parts.count == 2, let prefix = decimalNumber(parts[1].utf8) else { return false }
  let address = String(parts[0])
  return isAddress(address, AF_INET) && prefix <= 32
    || isAddress(address, AF_INET6) && prefix <= 128
}

private func isAddress(_ text: String, _ family: Int32) -> Bool {
  // Large enough for both families; the address itself is not used.
  var address = in6_addr()
  // The call reads a C string that lives as long as the call, and fills what it is given.
  return unsafe inet_pton(family, text, &address) == 1
}

private func isProxy(_ text: String) -> Bool {
  let scheme = "http://"
  guard text.hasPrefix(scheme), let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
    return false
  }
  let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count)
  guard start < colon,
    let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]),
    (1...65_535).contains(port)
  else { return false }
  return isHost(String(text[start..<colon]))
}

/// Whether a text is a host name, an IPv4 address, or an IPv6 address in brackets.
func isHost(_ text: String) -> Bool {
  if text.hasPrefix("["), text.hasSuffix("]") {
    return isAddress(String(text.dropFirst().dropLast()), AF_INET6)
  }
  return text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
