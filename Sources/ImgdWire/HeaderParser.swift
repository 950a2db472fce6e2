enum HeaderParser {
  static func headers(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> [RequestHeader] {
    guard fields.present.contains(.headers) else { return [] }
    guard let members = fields.container(.headers)?.object, members.count <= WireLimits.headers else {
      throw fields.wrong(.headers, .text("an object of at most \(WireLimits.headers) strings"), in: line)
    }
    var headers: [RequestHeader] = []
    var names = KeySet()
    for member in members {
      guard names.insert(member.name.lowercased()) else { throw refusal(of: member.name, "which is there twice") }
      // A value may be a credential, and is not repeated.
      let value = member.value.string
      switch RequestHeader.problem(name: member.name, value: value ?? "") {
      case .noName: throw refusal(of: member.name, "which is no header name")
      case .ofDaemon: throw refusal(of: member.name, "which only the daemon sets")
      case .controlCharacter: throw refusal(of: member.name, "whose value has a control character")
      case nil: break
      }
      guard let value else { throw refusal(of: member.name, "whose value is not a string") }
      headers.append(RequestHeader(name: member.name, value: value))
    }
    return headers
  }

  private static func refusal(of name: String, _ reason: String) -> WireError {
    .field(.headers, "\"headers\" has \"\(Excerpt.of(name))\", \(reason)")
  }
}

extension RequestHeader {
  /// Why a client may not add a header.
  package enum Problem {
    /// Names are tokens of RFC 9110.
    case noName
    /// The daemon frames, routes and caches the message itself; ranges and encodings would change the picture.
    case ofDaemon
    /// A line end, or another one except a tab.
    case controlCharacter
  }

  /// What is wrong with a header; nil if a client may add it.
  package static func problem(name: String, value: String) -> Problem? {
    guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else { return .noName }
    let name = name.lowercased()
    guard !forbidden.contains(name), !name.utf8.starts(with: "proxy-".utf8) else { return .ofDaemon }
    let bytes = value.utf8.span
    for index in bytes.indices {
      let byte = bytes[index]
      guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { return .controlCharacter }
    }
    return nil
  }

  private static let forbidden: Set<String> = [
    "host", "content-length", "range", "if-range", "connection", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade", "expect", "accept-encoding",
  ]

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
