// A purge that removes nothing because its filter can match nothing looks like one that found nothing. So a host with
// a port or a wildcard, and a prefix with which no URL begins, are refused, by the daemon and by imgctl with the same
// words.

extension PurgeRequest {
  /// Why no entry can be of this host: what is wrong with it, and what would be right; nil where one can.
  package static func problem(ofHost host: String) -> String? {
    let bytes = Array(host.utf8)
    let shown = Excerpt.of(host)
    if let slash = bytes.firstIndex(of: UInt8(ascii: "/")) {
      let isURL = slash > 0 && bytes[slash - 1] == UInt8(ascii: ":")
      return "\(shown) is \(isURL ? "a URL" : "no host"): write its host alone, such as example.org"
    }
    if bytes.starts(with: "*.".utf8), bytes.count > 2 {
      let domain = String(decoding: bytes[2...], as: UTF8.self)
      return "\(shown) has a *, and no host has one: write \(Excerpt.of(domain)), "
        + "which stands for the hosts below it as well"
    }
    if bytes.contains(UInt8(ascii: "*")) {
      return "\(shown) has a *, and no host has one: leave the filter out for all hosts"
    }
    if let problem = problem(ofPortIn: bytes, shown) { return problem }
    guard bytes.allSatisfy({ isHostByte(lowerCase($0)) || isBracketByte($0) }) else {
      return "\(shown) has characters that no host has: write it as it stands in a URL"
    }
    return nil
  }

  /// An address of version 6 has brackets in a URL, and colons within them.
  private static func problem(ofPortIn host: [UInt8], _ shown: String) -> String? {
    let colons = host.indices.filter { host[$0] == UInt8(ascii: ":") }
    guard let last = colons.last else { return nil }
    if host.first == UInt8(ascii: "[") {
      guard let end = host.lastIndex(of: UInt8(ascii: "]")), end < last else { return nil }
    } else if colons.count > 1 {
      return "\(shown) is an address without brackets: write [\(shown)]"
    }
    let name = String(decoding: host[..<last], as: UTF8.self)
    return "\(shown) has a port, and a host has none: write \(Excerpt.of(name))"
  }

  /// Why the URL of no entry can begin like this; nil where one can.
  package static func problem(ofPrefix prefix: String) -> String? {
    let bytes = Array(prefix.utf8)
    let shown = Excerpt.of(prefix)
    let schemes = ["http://", "https://"]
    if schemes.contains(where: { $0.utf8.starts(with: bytes) }) { return nil }
    guard let scheme = schemes.first(where: { bytes.starts(with: $0.utf8) }) else {
      return "\(shown) is the beginning of no URL here: those begin with http:// or https://, "
        + "in lower case"
    }
    let host = bytes[scheme.utf8.count...].prefix {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
    }
    if host.contains(UInt8(ascii: "*")) {
      return "\(shown) has a * in its host, and no host has one: "
        + "a prefix is compared as it is written, without wildcards"
    }
    if host.contains(UInt8(ascii: "@")) {
      return "\(shown) has a user name in it, and no URL here has one: leave it out"
    }
    guard host.allSatisfy({ isHostByte($0) || isBracketByte($0) }) else {
      return "\(shown) has characters that no host has: write the host in lower case, "
        + "as a URL has it"
    }
    return nil
  }
}

private func isHostByte(_ byte: UInt8) -> Bool {
  byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || "-._".utf8.contains(byte)
}

/// Those of ports and of addresses of version 6.
private func isBracketByte(_ byte: UInt8) -> Bool { "[]:".utf8.contains(byte) }

private func lowerCase(_ byte: UInt8) -> UInt8 {
  byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}
