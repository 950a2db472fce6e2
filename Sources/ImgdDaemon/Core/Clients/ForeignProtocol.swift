import ImgdWire

/// A protocol other than ours, as the first bytes of a connection show it.
///
/// Somebody has pointed a web client at the socket. It is told in its own protocol where it is, so that it
/// ends at once instead of waiting for what will not come.
enum ForeignProtocol {
  /// A request of HTTP/1, or the preface of HTTP/2; a HEAD request takes no body in the answer.
  case http(isHead: Bool)
  case tls

  private static let handshake: UInt8 = 0x16
  /// The longest method that IANA has registered is a little shorter.
  private static let longestMethod = 24

  /// TLS has no lines: its first byte is enough, and begins no line of ours.
  init?(firstBytes: Span<UInt8>) {
    guard !firstBytes.isEmpty, firstBytes[0] == Self.handshake else { return nil }
    self = .tls
  }

  /// The first line of a connection, when it is no request of ours.
  init?(firstLine line: Span<UInt8>) {
    let version = Array(" HTTP/".utf8)
    guard let method = Self.method(of: line), line.count > method.count + version.count else { return nil }
    // The version is one digit, or two with a dot.
    for length in [1, 3] {
      let start = line.count - length - version.count
      guard start > method.count else { continue }
      if version.indices.allSatisfy({ line[start + $0] == version[$0] }) {
        self = .http(isHead: method == Array("HEAD".utf8))
        return
      }
    }
    return nil
  }

  /// The capital letters up to the first space.
  private static func method(of line: Span<UInt8>) -> [UInt8]? {
    var method: [UInt8] = []
    for index in line.indices.prefix(longestMethod + 1) {
      if line[index] == UInt8(ascii: " ") { return method.isEmpty ? nil : method }
      guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= line[index] else { return nil }
      method.append(line[index])
    }
    return nil
  }

  private static let explanation =
    "This is the control socket of imgd, which speaks lines of JSON such as {\"cmd\":\"hello\"} and no "

  /// The whole answer, before the connection ends.
  var farewell: [UInt8] {
    switch self {
    case .http(let isHead): Self.httpFarewell(withBody: !isHead)
    case .tls: Self.tlsFarewell
    }
  }

  private static func httpFarewell(withBody: Bool) -> [UInt8] {
    let body = explanation + "HTTP: use imgctl, or socat as described in imgd-protocol(7).\n"
    let head = [
      "HTTP/1.1 400 Bad Request", "Content-Type: text/plain; charset=utf-8", "Content-Length: \(body.utf8.count)",
      "Connection: close", "", "",
    ]
    return Array((head.joined(separator: "\r\n") + (withBody ? body : "")).utf8)
  }

  private static var tlsFarewell: [UInt8] {
    var json = JSONWriter()
    let error = WireError(.badJSON, explanation + "TLS", details: ["offset": 0])
    ReplyEncoder.failure(id: .none, error: error, into: &json)
    return json.bytes
  }
}
