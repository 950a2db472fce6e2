/// Which extra headers a client may send along.
enum HeaderRules {
  /// Those that frame the message or belong to the connection, and those the daemon decides.
  private static let reserved: Set<String> = [
    "host", "content-length", "range", "if-range", "connection", "keep-alive", "te", "trailer",
    "transfer-encoding", "upgrade", "expect", "accept-encoding",
  ]

  static func isReserved(_ name: String) -> Bool {
    let lower = name.lowercased()
    return reserved.contains(lower) || lower.hasPrefix("proxy-")
  }

  /// A token of RFC 9110.
  static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  static func isValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
  }
}
