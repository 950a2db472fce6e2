import Glibc
import ImgdProgram
import ImgdSystem

extension ValueFormat where Value == Share {
  /// Bytes, or a percentage of another amount.
  static var share: Self {
    Self { text throws(WrongValue) in
      if text.hasSuffix("%") { return .percent(try ValueFormat<Int>.percentage(1...100).parse(text)) }
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue("is neither a size nor a percentage: write one such as 25M or 25%")
      }
      return .bytes(bytes)
    } text: {
      switch $0 {
      case .bytes(let bytes): SizeText.text(bytes)
      case .percent(let percent): "\(percent)%"
      }
    }
  }

  /// Bytes or a percentage, which may be zero.
  static var reserve: Self {
    Self { text throws(WrongValue) in
      text == "0%" ? .percent(0) : try share.parse(text)
    } text: {
      share.text($0)
    }
  }
}

extension ValueFormat where Value == DiskCapacity {
  /// Bytes within limits, or `auto`.
  static func diskCapacity(_ limits: ClosedRange<Int>) -> Self {
    let size = ValueFormat<Int>.size(limits)
    return Self { text throws(WrongValue) in
      if text == "auto" { return .auto }
      guard SizeText.bytes(text) != nil else {
        throw WrongValue("is neither auto nor a size: write auto, or one such as 2G")
      }
      return .bytes(try size.parse(text))
    } text: {
      switch $0 {
      case .auto: "auto"
      case .bytes(let bytes): size.text(bytes)
      }
    }
  }
}

extension ValueFormat where Value == AutomaticCount {
  /// A count within limits, or `auto`.
  static func automaticCount(_ limits: ClosedRange<Int>) -> Self {
    let count = ValueFormat<Int>.count(limits)
    return Self { text throws(WrongValue) in
      if text == "auto" { return .auto }
      guard decimalNumber(text.utf8) != nil else {
        throw WrongValue(
          "is neither auto nor a number: write auto, or " + "\(limits.lowerBound) to \(limits.upperBound)")
      }
      return .count(try count.parse(text))
    } text: {
      switch $0 {
      case .auto: "auto"
      case .count(let number): count.text(number)
      }
    }
  }
}

extension ValueFormat where Value == [String] {
  /// Names of header fields, separated by blanks or commas; they are kept in lower case.
  static var fieldNames: Self {
    words(inLowerCase: true) { name in
      let marks = "!#$%&'*+-.^_`|~".utf8
      return name.utf8.allSatisfy { isLetterOrDigit($0) || marks.contains($0) } ? nil : "which is not a header name"
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

extension ValueFormat where Value == [Principal] {
  /// Users and, with @ before them, groups, separated by blanks or commas; whether they exist shows when they are used.
  static var principals: Self {
    Self { text throws(WrongValue) in
      var principals: [Principal] = []
      for item in items(of: text) {
        let name = item.hasPrefix("@") ? String(item.dropFirst()) : item
        guard !name.isEmpty, name.utf8.allSatisfy({ isLetterOrDigit($0) || "._-$".utf8.contains($0) }) else {
          throw WrongValue("contains '\(shown(item))': write names or numbers of users, and of groups as @group")
        }
        principals.append(Principal(name: name, isGroup: name != item))
      }
      return principals
    } text: {
      $0.map { ($0.isGroup ? "@" : "") + $0.name }.joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == String? {
  /// `none`, or a proxy as `http://host:port` or `socks5h://host:port`.
  static var proxy: Self {
    Self { text throws(WrongValue) in
      if text == "none" { return nil }
      guard isProxy(text) else {
        throw WrongValue("is not a proxy: write none, http://host:port or socks5h://host:port")
      }
      return text
    } text: {
      $0 ?? "none"
    }
  }
}

func isLetterOrDigit(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  default: false
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
  guard let scheme = ["http://", "socks5h://"].first(where: { text.hasPrefix($0) }),
    let colon = text.utf8.lastIndex(of: UInt8(ascii: ":"))
  else { return false }
  let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count)
  guard start < colon, let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]),
    (1...65_535).contains(port)
  else { return false }
  return isHost(String(text[start..<colon]))
}

/// Whether a text is a host name, an IPv4 address, or an IPv6 address in brackets.
func isHost(_ text: String) -> Bool {
  if text.hasPrefix("["), text.hasSuffix("]") { return isAddress(String(text.dropFirst().dropLast()), AF_INET6) }
  return text.utf8.allSatisfy { isLetterOrDigit($0) || ".-".utf8.contains($0) }
}

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

  /// Printable ASCII without blanks.
  static func oneWord(longest: Int) -> Self {
    Self { text throws(WrongValue) in
      // In a file a backslash at the end would continue the line.
      guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
        throw WrongValue("is not one word: write printable ASCII without blanks and backslashes")
      }
      guard text.utf8.count <= longest else { throw WrongValue("is too long: write at most \(longest) bytes") }
      return text
    } text: {
      $0
    }
  }

  /// The beginning of keys in a server: none of its characters has a special meaning in a pattern.
  static var namespace: Self {
    Self { text throws(WrongValue) in
      let isRight = text.utf8.allSatisfy { isLetterOrDigit($0) || ":_.-".utf8.contains($0) }
      guard isRight, (1...64).contains(text.utf8.count) else {
        throw WrongValue("is not a namespace: write 1 to 64 of A-Z a-z 0-9 : _ . -")
      }
      return text
    } text: {
      $0
    }
  }
}
