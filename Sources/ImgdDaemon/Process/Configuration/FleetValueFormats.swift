import ImgdProgram
import ImgdFleet
import ImgdSystem

extension ValueFormat where Value == String {
  /// Where a Redis server listens, as `FleetSettings.Server` reads it.
  static var fleetServer: Self {
    Self { text throws(WrongValue) in
      _ = try FleetSettings.Server(text)
      return text
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
      let isRight = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: ":_.-".utf8.contains(byte)
        }
      }
      guard isRight, (1...64).contains(text.utf8.count) else {
        throw WrongValue("is not a namespace: write 1 to 64 of A-Z a-z 0-9 : _ . -")
      }
      return text
    } text: {
      $0
    }
  }
}

extension FleetSettings.Server {
  /// The room for the path in the address of a Unix socket, without the terminating zero.
  private static let longestPath = 107

  /// Reads `unix:/path`, `host:port` or `[address]:port`.
  init(_ text: String) throws(WrongValue) {
    if text.hasPrefix("unix:") {
      let path = try ValueFormat<String>.path(longest: Self.longestPath).parse(String(text.dropFirst("unix:".count)))
      self = .unix(path: path)
      return
    }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
      let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]), (1...65_535).contains(port),
      isHost(String(text[..<colon]))
    else { throw WrongValue("is not a server: write unix:/path, host:port or [IPv6 address]:port") }
    let host = text[..<colon]
    self = .tcp(host: String(host.hasPrefix("[") ? host.dropFirst().dropLast() : host), port: port)
  }
}
