private import CBench
import Glibc

/// A connection that is told what a daemon does with its cache.
final class Subscriber {
  private let connection: Descriptor
  private var text: [UInt8] = []

  init(_ socket: String) throws(BenchFailure) {
    // The path is read before the call returns.
    connection = unsafe Descriptor(owning: bench_connect(socket))
    let request = Array((#"{"cmd":"subscribe","events":["cache"]}"# + "\n").utf8)
    // write takes at most the bytes of the array.
    guard unsafe write(connection.number, request, request.count) == request.count else {
      throw .system("write", socket)
    }
    _ = try line()
  }

  /// Waits until a purge was carried out.
  func awaitPurge() throws(BenchFailure) {
    while try !line().contains(#""what":"purged""#) {}
  }

  private func line() throws(BenchFailure) -> String {
    while true {
      if let end = text.firstIndex(of: UInt8(ascii: "\n")) {
        defer { text.removeFirst(end + 1) }
        return String(decoding: text[..<end], as: UTF8.self)
      }
      var room = [UInt8](repeating: 0, count: 4_096)
      var patience = pollfd(fd: connection.number, events: Int16(POLLIN), revents: 0)
      // poll and read fill at most what they are given.
      guard unsafe poll(&patience, 1, 30_000) == 1,
        case let count = unsafe read(connection.number, &room, room.count), count > 0
      else { throw .unavailable("a subscriber was told nothing") }
      text += room[..<count]
    }
  }
}
