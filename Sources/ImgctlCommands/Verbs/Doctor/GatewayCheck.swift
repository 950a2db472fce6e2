import Glibc
import ImgdSystem

/// The gateway for HTTP: whether its units work, where they are used, and whether it answers.
struct GatewayCheck {
  private let socket: [String: String]
  private let service: [String: String]

  init(_ units: UnitStates) {
    socket = units.unit("imgd-http.socket")
    service = units.unit("imgd-http.service")
  }

  /// The gateway's state, with the last error of its log and its answer to a request for `/health`; nil unless somebody
  /// has turned it on.
  func finding(command: String, lastError: (_ unit: String) -> String?, answer: (_ socket: String) -> GatewayAnswer?)
    -> Finding?
  {
    let isEnabled = [socket["UnitFileState"], service["UnitFileState"]].contains("enabled")
    let isUsed = isEnabled || socket["ActiveState"] == "active" || service["ActiveState"] == "failed"
    guard socket["LoadState"] == "loaded", isUsed else { return nil }
    if service["ActiveState"] == "failed" {
      return .problem(
        "imgd-http", "imgd-http.service has failed" + (lastError("imgd-http.service") ?? ""),
        remedy: "imgd-http --check-config, and journalctl -u imgd-http, say why; then: "
          + "\(command) restart imgd-http.socket imgd-http.service")
    }
    guard socket["ActiveState"] == "active" else {
      return .problem(
        "imgd-http", "imgd-http.socket is \(socket["ActiveState"] ?? "?")",
        remedy: "\(command) enable --now imgd-http.socket")
    }
    // Asked only where the socket is one in the file system: `/run/imgd/http.sock (Stream)`.
    let path = (socket["Listen"] ?? "").split(separator: " ").first.map { String($0) } ?? ""
    // A question would start the service.
    guard service["ActiveState"] == "active", path.hasPrefix("/"), let answer = answer(path) else {
      return .ok("imgd-http", "imgd-http.socket is active")
    }
    return switch answer {
    case .status(200): .ok("imgd-http", "answers at \(path)")
    case .status(let status):
      .problem(
        "imgd-http", "\(path)/health answers \(status): the gateway does not reach imgd",
        remedy: "see the other problems; if there is none: \(command) restart imgd-http")
    case .silence: .problem("imgd-http", "does not answer at \(path)", remedy: "\(command) restart imgd-http")
    }
  }
}

/// The gateway's answer to a question about its health.
enum GatewayAnswer: Equatable {
  case status(Int)
  /// It takes connections, and says nothing.
  case silence

  private static let patience = Duration.seconds(3)
  /// Only the line with the status is wanted.
  private static let longest = 4_096

  /// Asks the gateway at a socket; nil if this user may not connect.
  init?(of path: String) {
    do throws(SystemFailure) {
      let socket = try ClientSocket(path: path, mayWait: false)
      var question = Outbox()
      question.bytes += Array("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
      let wasSent = socket.send(&question)
      let line = wasSent ? try Self.firstLine(from: socket) : []
      self = Self.status(in: line).map { .status($0) } ?? .silence
    } catch {
      if error.errno == EACCES || error.errno == EPERM { return nil }
      self = .silence
    }
  }

  private static func firstLine(from socket: borrowing ClientSocket) throws(SystemFailure) -> [UInt8] {
    let deadline = Instant.current + patience
    var line: [UInt8] = []
    while !line.contains(UInt8(ascii: "\n")), line.count < longest, try socket.wait(forRoom: false, until: deadline) {
      switch try socket.receive() {
      case .bytes(let bytes, _): line += bytes
      case .nothing: continue
      case .end: return line
      }
    }
    return line
  }

  /// The number in a line such as `HTTP/1.1 200 OK`.
  static func status(in answer: [UInt8]) -> Int? {
    let words = String(decoding: answer, as: UTF8.self).split(separator: " ", maxSplits: 2)
    guard words.count > 1, words[0].hasPrefix("HTTP/1.") else { return nil }
    return Int(words[1].prefix(3))
  }
}
