import Glibc
import ImgdSystem
import ImgdTestSupport

/// A program in the daemon's place that does what no daemon would; each connection has a thread of its own.
final class ScriptedDaemon: Sendable {
  enum Answer {
    case line(String)
    /// A line with a descriptor of so many zeros, or with several of them.
    case memory(String, bytes: Int, copies: Int = 1)
    case close
  }

  let path: String
  /// The sizes of the files that came with requests.
  let handed = Shared<[Int]>([])
  private let directory = TemporaryDirectory()
  private let listener: CInt
  private let thread: ImgdSystem.Thread

  /// The script is asked with the number of the connection, from 1, and each of its lines.
  init(_ script: @escaping @Sendable (_ connection: Int, _ request: String) -> [Answer]) throws {
    path = directory.path + "/s"
    let listener = try UnixName.listening(at: path)
    let handed = handed
    self.listener = listener
    thread = try ImgdSystem.Thread(name: "scripted daemon") {
      var count = 0
      var servants: [ImgdSystem.Thread] = []
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        count += 1
        let servant = try? ImgdSystem.Thread(name: "scripted daemon") { [count] in
          Self.serve(connection, handed) { script(count, $0) }
          close(connection)
        }
        servants += servant.map { [$0] } ?? []
      }
      for servant in servants { servant.join() }
    }
  }

  /// The clients of a test end before it does: no connection holds up the thread.
  deinit {
    shutdown(listener, CInt(SHUT_RDWR))
    thread.join()
    close(listener)
  }

  private static func serve(
    _ connection: CInt, _ handed: Shared<[Int]>, _ script: (String) -> [Answer]
  ) {
    var waiting: [UInt8] = []
    var arrival = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
    while poll(&arrival, 1, -1) > 0,
      case let (bytes, numbers) = receiveWithDescriptors(from: connection, limit: 65_536), !bytes.isEmpty
    {
      waiting += bytes
      for number in numbers {
        let file = FileDescriptor(owning: number)
        handed.with { $0.append((try? file.status("a file").size) ?? -1) }
      }
      while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
        let request = String(decoding: waiting[..<end], as: UTF8.self)
        waiting.removeFirst(end + 1)
        for answer in script(request) {
          guard say(answer, to: connection) else { return }
        }
      }
    }
  }

  private static func say(_ answer: Answer, to connection: CInt) -> Bool {
    switch answer {
    case .line(let line): return send(Array((line + "\n").utf8), with: connection)
    case .memory(let line, let bytes, let copies):
      guard let memory = try? MappedMemory(count: bytes), let file = try? memory.seal(),
        let descriptor = try? file.shareable().openReadOnly()
      else { return false }
      let number = descriptor.release()
      defer { Glibc.close(number) }
      let numbers = Array(repeating: number, count: copies)
      return ImgdTestSupport.send(Array((line + "\n").utf8), with: numbers, to: connection) > 0
    case .close: return false
    }
  }

  private static func send(_ bytes: [UInt8], with connection: CInt) -> Bool {
    Glibc.send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
  }
}

/// The number in a request's `id`.
func id(_ request: String) -> String {
  let parts = request.split(separator: "\"id\":")
  return parts.count > 1 ? String(parts[1].prefix { $0.isNumber }) : "none"
}
