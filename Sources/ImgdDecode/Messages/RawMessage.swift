internal import CLinux
import Glibc
import ImgdSystem

/// A message as it arrived, with its descriptors; those that nobody takes are closed.
struct RawMessage: ~Copyable {
  enum State { case whole, nothing, end, broken }

  let state: State
  let bytes: [UInt8]
  private var numbers: [CInt]

  init(from socket: borrowing FileDescriptor, waits: Bool) {
    let number = socket.number
    var attached = [CInt](repeating: -1, count: Int(LINUX_MOST_DESCRIPTORS))
    var attachedCount: CInt = 0
    var got = 0
    var failure: CInt = 0
    bytes = unsafe [UInt8](unsafeUninitializedCapacity: MessageLayout.longest) { room, filled in
      got = unsafe linux_receive_message(number, room.baseAddress, room.count, &attached, &attachedCount, waits ? 1 : 0)
      failure = errno
      filled = max(got, 0)
    }
    if got > 0 {
      state = .whole
    } else if got == 0 || failure == ECONNRESET {
      // A peer that closes with messages unread resets the connection.
      state = .end
    } else {
      state = failure == EAGAIN || failure == EINTR ? .nothing : .broken
    }
    numbers = Array(attached.prefix(Int(attachedCount)))
  }

  deinit { for number in numbers { close(number) } }

  /// Whether no descriptor is left.
  var isAlone: Bool { numbers.isEmpty }

  /// The content of the memfd that came with it; nil unless it is the only descriptor, and sealed.
  mutating func takeMemory() -> Payload? {
    guard numbers.count == 1 else { return nil }
    return Payload.adopt(FileDescriptor(owning: numbers.removeLast()))
  }
}
