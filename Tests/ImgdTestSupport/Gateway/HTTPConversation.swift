import Glibc
import ImgdWire

/// A connection of HTTP over a Unix socket, which waits for its answers.
package final class HTTPConversation {
  private var number: CInt
  private var received: [UInt8] = []

  package init(_ socket: String) throws {
    number = try connect(to: socket)
    var patience = timeval(tv_sec: Int(Patience.limit.components.seconds), tv_usec: 0)
    setsockopt(
      number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { leave() }

  /// Closes the connection, whatever is still to come.
  package func leave() {
    guard number >= 0 else { return }
    // A program that is just being started may have a copy of the descriptor.
    shutdown(number, CInt(SHUT_RDWR))
    close(number)
    number = -1
  }

  package func endSending() {
    shutdown(number, CInt(SHUT_WR))
  }

  package func send(
    _ target: String, _ fields: [String] = [], method: String = "GET", host: String = "localhost"
  ) throws {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: \(host)"] + fields
    try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
  }

  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        Glibc.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard sent > 0 else { throw TestFailure("send: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(sent)
    }
  }

  /// The next answer; its body has the length that the head names.
  package func answer(isHead: Bool = false) throws -> HTTPAnswer {
    let end = Array("\r\n\r\n".utf8)
    let head = try take { bytes in
      guard bytes.count >= 4 else { return nil }
      return (0...bytes.count - 4).first { Array(bytes[$0..<$0 + 4]) == end }.map { $0 + 4 }
    }
    var answer = try HTTPAnswer(head: String(decoding: head, as: UTF8.self))
    if !isHead, answer.status != 304, let length = answer["content-length"].flatMap({ Int($0) }) {
      answer.body = try take { $0.count >= length ? length : nil }
    }
    return answer
  }

  /// The next bytes up to a text, with it.
  package func read(through text: String) throws -> String {
    let mark = Array(text.utf8)
    let bytes = try take { bytes in
      guard bytes.count >= mark.count else { return nil }
      return (0...bytes.count - mark.count).first { Array(bytes[$0..<$0 + mark.count]) == mark }
        .map { $0 + mark.count }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// All that comes before the server closes.
  package func rest() -> String {
    while readMore() {}
    return String(decoding: received, as: UTF8.self)
  }

  /// Takes as many of the bytes as `count` says, reading until it knows.
  private func take(_ count: ([UInt8]) -> Int?) throws -> [UInt8] {
    while true {
      if let wanted = count(received) {
        defer { received.removeFirst(wanted) }
        return Array(received[..<wanted])
      }
      guard readMore() else { throw TestFailure("the server closed after \(received.count) bytes") }
    }
  }

  private func readMore() -> Bool {
    var room = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(number, &room, room.count, 0)
    received += room[..<max(count, 0)]
    return count > 0
  }
}

/// An answer of HTTP.
package struct HTTPAnswer {
  package let status: Int
  /// By their names in lower case.
  package let fields: [String: String]
  package var body: [UInt8] = []
  /// What `Cache-Status` says of this cache.
  package let cacheStatus: StructuredList.Member?

  init(head: String) throws {
    let lines = head.split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count > 1, let status = Int(words[1]) else {
      throw TestFailure("no answer of HTTP: \(head)")
    }
    self.status = status
    let pairs = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts[0].lowercased(), String(parts.last?.drop { $0 == " " } ?? ""))
    }
    fields = try Dictionary(pairs) { throw TestFailure("a field came twice: \($0), \($1)") }
    let members = try fields["cache-status"].map { try StructuredList($0).members } ?? []
    guard members.allSatisfy({ $0.value == .item(.token("imgd")) }), members.count <= 1 else {
      throw TestFailure("Cache-Status is of more than one cache: \(members)")
    }
    cacheStatus = members.first
  }

  package subscript(_ field: String) -> String? { fields[field] }

  package var text: String { String(decoding: body, as: UTF8.self) }

  package var json: JSONValue? { try? JSONValue(parsing: body.span) }

  /// The code of an error.
  package var code: String? { json?["error"]?["code"]?.string }
}
