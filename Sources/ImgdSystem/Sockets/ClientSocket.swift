internal import CLinux
import Glibc

/// The client's end of a Unix stream connection: descriptors may arrive with the bytes, and only
/// `wait` waits.
package struct ClientSocket: ~Copyable {
  private let stream: StreamSocket

  /// The descriptor, for a loop to watch.
  package var number: CInt { stream.descriptor.number }

  /// Connects; if the daemon has too many connections to accept, it waits, or fails if it may not wait.
  package init(path: String, mayWait: Bool = true) throws(SystemFailure) {
    let number = mayWait ? socket(AF_UNIX, Self.waiting, 0) : linux_unix_socket()
    guard number >= 0 else { throw SystemFailure("socket") }
    let descriptor = FileDescriptor(owning: number)
    // The path is a C string for the length of the call.
    guard unsafe linux_connect_unix(number, path) == 0 else { throw SystemFailure("connect", path) }
    guard linux_set_nonblocking(number) == 0 else { throw SystemFailure("fcntl", path) }
    stream = StreamSocket(descriptor)
  }

  private static let waiting = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

  /// Takes over a connection that is already established.
  package init(_ descriptor: consuming FileDescriptor) throws(SystemFailure) {
    guard linux_set_nonblocking(descriptor.number) == 0 else { throw SystemFailure("fcntl") }
    stream = StreamSocket(descriptor)
  }

  /// The result of a read.
  package enum Arrival: ~Copyable {
    case bytes([UInt8], FileDescriptor?)
    case nothing
    case end
  }

  /// Reads once, without waiting.
  package func receive() throws(SystemFailure) -> Arrival {
    var attached: CInt = -1
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { room, filled in
      // Fills no more than the buffer's own size.
      count = unsafe linux_receive_with_fd(stream.descriptor.number, room.baseAddress, room.count, &attached)
      filled = max(count, 0)
    }
    if count > 0 { return .bytes(bytes, attached < 0 ? nil : FileDescriptor(owning: attached)) }
    // A daemon that closes with requests unread resets the connection; its answers arrived before.
    if count == 0 || errno == ECONNRESET { return .end }
    guard errno == EAGAIN || errno == EINTR else { throw SystemFailure("receive") }
    return .nothing
  }

  /// Sends as much as the daemon accepts, without waiting; false when the connection is broken.
  package func send(_ outbox: inout Outbox) -> Bool { outbox.send(to: stream) != .broken }

  /// Announces that no more requests will come; answers still arrive.
  package func endSending() { shutdown(stream.descriptor.number, CInt(SHUT_WR)) }

  /// Waits until there is something to read, or, if wanted, room to write; false when the deadline
  /// passes first.
  package func wait(forRoom: Bool, until deadline: Instant?) throws(SystemFailure) -> Bool {
    var interest = pollfd(fd: stream.descriptor.number, events: Int16(POLLIN | (forRoom ? POLLOUT : 0)), revents: 0)
    while true {
      let timeout = deadline.map { max(0, ($0 - .current).milliseconds + 1) }
      let ready = unsafe poll(&interest, 1, timeout.map { CInt(clamping: $0) } ?? -1)
      if ready > 0 { return true }
      guard ready == 0 || errno == EINTR else { throw SystemFailure("poll") }
      if let deadline, Instant.current >= deadline { return false }
    }
  }
}
