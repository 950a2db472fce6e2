import Glibc
import ImgdTestSupport

/// A client that sends what it is told to, whether or not that is HTTP.
final class RawClient {
  private var number: CInt
  private let turn: () -> Void
  private(set) var received: [UInt8] = []

  init(_ number: CInt, turn: @escaping () -> Void) {
    self.number = number
    self.turn = turn
  }

  deinit { close() }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        Glibc.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if sent < 0, errno != EAGAIN { return }
      rest = rest.dropFirst(max(sent, 0))
      turn()
    }
  }

  /// Sends a little while the server does nothing.
  func sendUnseen(_ text: String) {
    _ = Glibc.send(number, text, text.utf8.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
  }

  /// Ends sending, and the server does not see it before its next turn.
  func endUnseen() {
    shutdown(number, CInt(SHUT_WR))
  }

  func endSending() {
    shutdown(number, CInt(SHUT_WR))
    turn()
  }

  /// Closes so that the server is told that nobody reads any more.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    Glibc.close(number)
    number = -1
    turn()
  }

  func close() {
    guard number >= 0 else { return }
    shutdown(number, CInt(SHUT_RDWR))
    Glibc.close(number)
    number = -1
  }

  /// What there is after the server's turn; false at the end.
  private func take() -> Bool {
    turn()
    var room = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(number, &room, room.count, CInt(MSG_DONTWAIT))
    if count > 0 { received += room[..<count] }
    return count > 0 || count < 0 && errno == EAGAIN
  }

  /// All that the server sends until it closes.
  func all() throws -> String {
    try waitFor {
      var before: Int
      repeat {
        before = received.count
        guard take() else { return true }
      } while received.count > before
      return false
    }
    return text
  }

  /// The next so many answers with a length, each as its head and its body.
  func answers(_ count: Int = 1) throws -> [RawAnswer] {
    var answers: [RawAnswer] = []
    try waitFor {
      let isOpen = take()
      while answers.count < count, let next = RawAnswer(takenFrom: &received) {
        answers.append(next)
      }
      guard isOpen || answers.count == count else {
        throw TestFailure("closed after \(answers.count) answers")
      }
      return answers.count == count
    }
    return answers
  }

  func answer() throws -> RawAnswer { try answers()[0] }

  /// Reads until the bytes contain a text.
  func wait(for text: String) throws {
    try waitFor {
      _ = take()
      return self.text.contains(text)
    }
  }

  /// Whether the server has closed.
  func isClosed() throws -> Bool { !take() }

  var text: String { String(decoding: received, as: UTF8.self) }
}

/// An answer as it came.
struct RawAnswer {
  let head: String
  let body: String

  var status: Int { Int(head.split(separator: " ")[1]) ?? 0 }

  func field(_ name: String) -> String? { Self.field(name, of: head) }

  private static func field(_ name: String, of head: String) -> String? {
    head.split(separator: "\r\n").lazy.compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
      return String(parts[1].drop { $0 == " " })
    }.first
  }

  /// Removes one answer from the front, if it is complete.
  init?(takenFrom bytes: inout [UInt8]) {
    let mark = Array("\r\n\r\n".utf8)
    guard bytes.count >= 4,
      let end = (0...bytes.count - 4).first(where: { Array(bytes[$0..<$0 + 4]) == mark })
    else { return nil }
    let head = String(decoding: bytes[..<end], as: UTF8.self)
    let hasBody = !head.hasPrefix("HTTP/1.1 304 ")
    let length = hasBody ? Self.field("Content-Length", of: head).flatMap { Int($0) } ?? 0 : 0
    guard bytes.count >= end + 4 + length else { return nil }
    self.head = head
    body = String(decoding: bytes[(end + 4)..<(end + 4 + length)], as: UTF8.self)
    bytes.removeFirst(end + 4 + length)
  }
}
