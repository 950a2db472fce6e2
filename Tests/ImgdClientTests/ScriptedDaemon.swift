import Glibc
import ImgdSystem
import Testing

/// A daemon that says what a test has written down, to the one client that comes.
final class ScriptedDaemon {
  /// What follows a request.
  enum Answer {
    case line(String)
    case picture(String, [UInt8])
    case close
  }

  let path: String
  private let directory: String
  private let listener: CInt
  private let thread: ImgdSystem.Thread

  init(_ script: @escaping @Sendable (_ request: String) -> [Answer]) throws {
    var template = Array("/tmp/imgd-client-XXXXXX".utf8CString)
    directory = String(cString: try #require(mkdtemp(&template)))
    path = directory + "/s"
    let listener = try Self.listen(path)
    self.listener = listener
    thread = try ImgdSystem.Thread(name: "scripted daemon") {
      let number = accept(listener, nil, nil)
      if number >= 0 { Self.serve(StreamSocket(FileDescriptor(owning: number)), script) }
    }
  }

  deinit {
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

  private static func serve(
    _ client: consuming StreamSocket, _ script: (String) -> [Answer]
  ) {
    let scratch = ReadScratch()
    var line: [UInt8] = []
    while case .bytes(let count) = client.read(into: scratch) {
      let bytes = scratch.withBytes(count) { span in (0..<count).map { span[$0] } }
      for byte in bytes {
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          continue
        }
        guard say(script(String(decoding: line, as: UTF8.self)), to: client) else { return }
        line = []
      }
    }
  }

  private static func say(_ answers: [Answer], to client: borrowing StreamSocket) -> Bool {
    var outbox = Outbox()
    var goesOn = true
    for answer in answers {
      switch answer {
      case .line(let line): outbox.bytes += Array((line + "\n").utf8)
      case .picture(let line, let bytes):
        if let file = try? Payload(bytes).shareable().openReadOnly() { outbox.attach(file) }
        outbox.bytes += Array((line + "\n").utf8)
      case .close: goesOn = false
      }
    }
    return outbox.send(to: client) == .emptied && goesOn
  }
}

/// The number in a request's `id`.
func id(_ request: String) -> String {
  let parts = request.split(separator: "\"id\":")
  return parts.count > 1 ? String(parts[1].prefix { $0.isNumber }) : "none"
}
