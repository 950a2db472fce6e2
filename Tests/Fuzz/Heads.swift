import Glibc

@testable import ImgdGateway
@testable import ImgdSystem

extension FuzzTarget {
  /// Heads of requests over HTTP, through the library and the judgement on what it has read. A request that is handed out
  /// was sent by the letter of RFC 9112: no proxy in front can have read another one.
  static let heads = FuzzTarget(
    "heads",
    of: [
      "ImgdGateway/Server/RequestHead.swift", "ImgdGateway/Server/HTTPRequest.swift", "CMicrohttpd/CMicrohttpd.c",
    ], longest: 300
  ) { bytes in
    let (handed, answer) = HeadServer.shared.answers(to: bytes)
    expect(handed.count <= 1 || bytes.count > 30, "each request has a head of its own")
    var rest = bytes[...]
    for request in handed {
      guard let head = PlainHead(takenFrom: &rest) else { fatalError("only a strict head is handed out") }
      expect(head.method == request.method, "both readers read the same method")
      expect(head.path == request.target, "and the same target")
      expect(head.fields("x-a") == request.fields, "and the same fields")
    }
    if !handed.isEmpty { expect(answer.starts(with: "HTTP/1.".utf8), "it is answered") }
  }
}

extension HeadServer {
  /// The bytes as the library of Debian 12 leaves them to be judged: it writes zeros over the ends of lines that it has
  /// found, and over a colon that it has taken for an empty name. So a zero that was sent cannot be told from these, nor
  /// an end of a line without a return, with such a colon beside it, from a whole end.
  static func seen(_ bytes: [UInt8]) -> [UInt8] {
    var seen = bytes
    for place in seen.indices.dropFirst().dropLast() where seen[place] == 0x3A && seen[place - 1] == 0x0A {
      if [0, 0x0D, 0x0A].contains(seen[place + 1]) { seen[place] = 0 }
    }
    func isZero(_ place: Int) -> Bool {
      [0, 0x0A].contains(seen[place]) || seen[place...].starts(with: [0x0D, 0x0A])
    }
    let zeros = seen.indices.map(isZero)
    var place = 0
    while place < seen.count {
      let run = zeros[place...].prefix { $0 }
      // Two end a line, and four a head; what follows is of the next.
      if run.count == 2 || run.count >= 4 {
        for index in run.indices.prefix(4) { seen[index] = (index - place) % 2 == 0 ? 0x0D : 0x0A }
      }
      place += run.count + 1
    }
    return seen
  }
}

/// What the server has handed out of one connection.
private struct HandedRequest {
  let method: String
  let target: String
  let fields: [String]
}

/// One server, and one connection after the other.
private final class HeadServer {
  nonisolated(unsafe) static let shared: HeadServer = {
    do { return try HeadServer() } catch { fatalError("there is a server: \(error)") }
  }()

  private let loop: EventLoop
  private let path = "/tmp/imgd-fuzz-\(getpid()).sock"
  private var server: HTTPServer?
  private var handed: [HandedRequest] = []

  private init() throws {
    loop = try EventLoop(clock: .manual())
    unlink(path)
    let listener = try HTTPListener(path: path)
    server = try HTTPServer(on: loop, at: try listener.makePlace(), limits: HTTPLimits()) { [unowned self] exchange in
      handed.append(
        HandedRequest(
          method: exchange.method.rawValue, target: exchange.target, fields: exchange.fields("X-A")))
      exchange.answer(HTTPResponse(status: 200, fields: [], body: .bytes([])))
    }
    kept = listener
  }

  private var kept: HTTPListener?

  func answers(to bytes: [UInt8]) -> (handed: [HandedRequest], answer: [UInt8]) {
    handed = []
    let client = connect()
    defer { close(client) }
    expect(send(client, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count, "a short text is sent at once")
    shutdown(client, CInt(SHUT_WR))
    var answer: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4096)
    // It closes, since nothing more comes.
    for _ in 0..<100 {
      loop.settle()
      let count = recv(client, &room, room.count, CInt(MSG_DONTWAIT))
      if count == 0 || count < 0 && errno != EAGAIN { return (handed, answer) }
      if count > 0 { answer += room[..<count] }
    }
    fatalError("a connection whose client has ended is closed")
  }

  private func connect() -> CInt {
    let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let outcome = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    expect(outcome == 0, "the server takes a connection: errno \(errno)")
    return number
  }
}

/// A head by the grammar of RFC 9112, 2 to 5, without anything that a reader may put up with.
private struct PlainHead {
  let method: String
  private(set) var path = ""
  private var list: [(name: String, value: String)] = []

  func fields(_ name: String) -> [String] { list.filter { $0.name == name }.map(\.value) }

  /// Takes one head from the front of what was sent.
  init?(takenFrom sent: inout ArraySlice<UInt8>) {
    // Lines may be empty before a request line (2.2), and the library takes one that begins with a zero for empty.
    while let first = sent.first, first == 0 || first == 0x0A || sent.starts(with: [0x0D, 0x0A]) {
      guard let end = sent.firstIndex(of: 0x0A) else { return nil }
      sent = sent[(end + 1)...]
    }
    let whole = HeadServer.seen(Array(sent))
    var bytes = whole[...]
    defer { sent = sent.dropFirst(whole.count - bytes.count) }
    var lines: [[UInt8]] = []
    while true {
      guard let end = bytes.firstIndex(of: 0x0A), end > bytes.startIndex, bytes[end - 1] == 0x0D else { return nil }
      let line = Array(bytes[bytes.startIndex..<end - 1])
      bytes = bytes[(end + 1)...]
      if line.isEmpty { break }
      guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
      lines.append(line)
    }
    guard let first = lines.first else { return nil }
    let parts = first.split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].allSatisfy(Self.isToken), !parts[0].isEmpty,
      parts[2].count == 8, parts[2].starts(with: "HTTP/1.".utf8), let minor = parts[2].last, 0x30...0x39 ~= minor,
      let target = String(validating: parts[1], as: UTF8.self)
    else { return nil }
    let word = String(decoding: parts[0], as: UTF8.self)
    method = ["GET", "HEAD", "POST", "OPTIONS"].contains(word) ? word : "other"
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, line[..<colon].allSatisfy(Self.isToken)
      else { return nil }
      var value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
      let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      list.append((name, String(decoding: value, as: UTF8.self)))
    }
    let hosts = fields("host")
    guard hosts.count == 1 || hosts.isEmpty && minor == UInt8(ascii: "0") else { return nil }
    guard fields("transfer-encoding").isEmpty, fields("content-length").allSatisfy({ $0.allSatisfy { $0 == "0" } })
    else { return nil }
    guard let path = Self.path(target, method, host: hosts.first) else { return nil }
    self.path = path
  }

  /// Section 3.2.
  private static func path(_ target: String, _ method: String, host: String?) -> String? {
    if target.hasPrefix("/") || method == "other" || target == "*" && method == "OPTIONS" { return target }
    let lower = target.lowercased()
    guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else { return nil }
    let rest = target.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty, host == nil || host?.lowercased() == authority.lowercased() else { return nil }
    let path = String(rest.dropFirst(authority.count))
    return path.hasPrefix("/") ? path : "/" + path
  }

  private static func isToken(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
