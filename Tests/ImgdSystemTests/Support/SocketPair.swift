import Glibc
import ImgdSystem

/// A connected pair: a stream socket under test, and a plain descriptor for the test.
final class SocketPair {
  let near: StreamSocket
  private(set) var far: CInt

  init(sendBuffer: CInt? = nil) throws {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
      throw SystemFailure("socketpair")
    }
    near = StreamSocket(FileDescriptor(owning: ends[0]))
    far = ends[1]
    if var size = sendBuffer {
      setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    }
  }

  deinit { closeFar() }

  var number: CInt { near.descriptor.number }

  /// The far end writes; the near end becomes readable.
  func poke(_ text: String = "x") {
    let bytes = Array(text.utf8)
    _ = Glibc.write(far, bytes, bytes.count)
  }

  /// The bytes that the far end can read now, at most `limit`.
  func drain(_ limit: Int = 1 << 20) -> [UInt8] {
    var room = [UInt8](repeating: 0, count: limit)
    let count = recv(far, &room, limit, CInt(MSG_DONTWAIT))
    return Array(room.prefix(max(count, 0)))
  }

  func closeFar() {
    guard far >= 0 else { return }
    // A process that is just being started may have a copy, so closing alone would not end it.
    shutdown(far, CInt(SHUT_RDWR))
    close(far)
    far = -1
  }
}
