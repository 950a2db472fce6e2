import Glibc
import ImgdSystem

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
