import Glibc
import ImgdSystem
import ImgdWire
import Testing

/// A daemon with the answers of a script, for one client or for several after each other.
final class ScriptedDaemon {
  /// The answer to a request.
  enum Answer {
    case line(String)
    case picture(String, [UInt8])
    case close
  }

  let path: String
  private let directory: String
  private let listener: CInt
  private let thread: ImgdSystem.Thread

  convenience init(
    clients: Int = 1, _ script: @escaping @Sendable (_ request: String) -> [Answer]
  ) throws {
    try self.init(clients: clients, withFiles: { request, _ in script(request) })
  }

  /// The script is told what is in the file that comes with a request.
  init(
    clients: Int = 1, withFiles script: @escaping @Sendable (_ request: String, _ file: String?) -> [Answer]
  ) throws {
    var template = Array("/tmp/imgd-client-XXXXXX".utf8CString)
    directory = String(cString: try #require(mkdtemp(&template)))
    path = directory + "/s"
    let listener = try Self.listen(path)
    self.listener = listener
    let path = path
    thread = try ImgdSystem.Thread(name: "scripted daemon") {
      for client in 1...clients {
        let number = accept(listener, nil, nil)
        guard number >= 0 else { return }
        // Before the last client is let go, or it might come again and wait in the queue for nobody.
        if client == clients { unlink(path) }
        if let client = try? ClientSocket(FileDescriptor(owning: number)) { Self.serve(client, listener, script) }
      }
    }
  }

  deinit {
    // Wakes the thread wherever it waits.
    shutdown(listener, CInt(SHUT_RDWR))
    thread.join()
    close(listener)
    unlink(path)
    rmdir(directory)
  }

  private static func listen(_ path: String) throws -> CInt {
    let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && Glibc.listen(number, 5) == 0)
    return number
  }

  /// Answers request after request until the client leaves, the script ends, or the test lets go.
  private static func serve(
    _ client: consuming ClientSocket, _ listener: CInt, _ script: (String, String?) -> [Answer]
  ) {
    var framer = LineFramer()
    var file: String?
    while wait(for: client, POLLIN, listener),
      case .bytes(let bytes, let descriptor)? = try? client.receive()
    {
      if let descriptor {
        file = (try? descriptor.front(1 << 20)).map { String(decoding: $0, as: UTF8.self) }
      }
      var requests: [String] = []
      framer.feed(bytes.span) { finding in
        guard case .line(let line) = finding else { return .next }
        requests.append(line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        return .next
      }
      // A descriptor belongs to the line of the last byte that came with it, even if that line goes on.
      let isWhole = bytes.last == UInt8(ascii: "\n")
      var answers: [Answer] = []
      for (place, request) in requests.enumerated() {
        let isLast = isWhole && place == requests.count - 1
        answers += script(request, isLast ? file : nil)
        if isLast { file = nil }
      }
      guard say(answers, to: client, listener) else { return }
    }
  }

  /// Waits for the client; false when the test has let go of the daemon.
  private static func wait(
    for client: borrowing ClientSocket, _ events: CInt, _ listener: CInt
  ) -> Bool {
    var both = [
      pollfd(fd: client.number, events: Int16(events), revents: 0),
      pollfd(fd: listener, events: 0, revents: 0),
    ]
    while poll(&both, 2, -1) < 0, errno == EINTR {}
    return both[1].revents == 0
  }

  /// Sends all answers, up to the end of the script where that is among them.
  private static func say(
    _ answers: [Answer], to client: borrowing ClientSocket, _ listener: CInt
  ) -> Bool {
    var outbox = Outbox()
    var goesOn = true
    for answer in answers where goesOn {
      switch answer {
      case .line(let line): outbox.bytes += Array((line + "\n").utf8)
      case .picture(let line, let bytes):
        if let file = try? Payload(bytes).shareable().openReadOnly() { outbox.attach(file) }
        outbox.bytes += Array((line + "\n").utf8)
      case .close: goesOn = false
      }
    }
    while client.send(&outbox), outbox.unsent > 0 {
      guard wait(for: client, POLLOUT, listener) else { return false }
    }
    return goesOn
  }
}

/// The number in a request's `id`.
func id(_ request: String) -> String {
  let parts = request.split(separator: "\"id\":")
  return parts.count > 1 ? String(parts[1].prefix { $0.isNumber }) : "none"
}
