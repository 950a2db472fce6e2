import Glibc
import ImgdProgram
import ImgdSystem

extension ValueFormat where Value == String {
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
        throw WrongValue("\(subject) not a network: write address/prefix, such as 10.0.0.0/8 or fd00::/8")
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
      guard isProxy(text) else { throw WrongValue("is not a proxy: write none, or http://host:port") }
      return text
    } text: {
      $0 ?? "none"
    }
  }
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
  return isAddress(address, AF_INET) && prefix <= 32 || isAddress(address, AF_INET6) && prefix <= 128
}

private func isProxy(_ text: String) -> Bool {
  let scheme = "http://"
  guard text.hasPrefix(scheme), let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
  let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count)
  guard start < colon, let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]),
    (1...65_535).contains(port)
  else { return false }
  return isHost(String(text[start..<colon]))
}

/// Whether a text is a host name, an IPv4 address, or an IPv6 address in brackets.
func isHost(_ text: String) -> Bool {
  if text.hasPrefix("["), text.hasSuffix("]") { return isAddress(String(text.dropFirst().dropLast()), AF_INET6) }
  return text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
