internal import CLinux
import Glibc

/// A process that reports memory pressure by sending bytes, whatever they are.
final class PressurePeer {
  private let path: String
  private let isFIFO: Bool
  /// The bytes written into a FIFO, until something has been read from it.
  private var ownRequest: [UInt8] = []
  private let loop: EventLoop
  private let callbacks: PressureCallbacks
  private var watch: BackoffWatch?

  /// Writes the request into a FIFO, if it is writable, and reads from it. When one writer closes it,
  /// another may follow.
  ///
  /// The process at the other end reads from the same FIFO, so nothing is read here for a moment.
  init(fifo path: String, request: [UInt8], loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    self.path = path
    self.loop = loop
    self.callbacks = callbacks
    isFIFO = true
    // The path is a C string for the length of the call.
    if !request.isEmpty, unsafe access(path, W_OK) == 0 {
      ownRequest = request
      try listen(to: Self.open(fifo: path, sending: request), after: PressureMonitor.pause)
    } else {
      try listen(to: Self.open(fifo: path))
    }
  }

  /// Connects to a stream socket and sends the request first. The source ends when the other side
  /// closes it.
  init(socket path: String, request: [UInt8], loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    self.path = path
    self.loop = loop
    self.callbacks = callbacks
    isFIFO = false
    try listen(to: Self.connect(path, sending: request))
  }

  private func listen(to descriptor: consuming FileDescriptor, after pause: Duration? = nil) throws(PressureProblem) {
    let number = descriptor.number
    watch = try BackoffWatch(descriptor, for: .read, on: loop, after: pause) { [unowned self] _ in
      readArrived(from: number)
    }
  }

  /// Reads and drops what has arrived, as much as a pipe can hold.
  private func readArrived(from number: CInt) -> Duration? {
    var room = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(number, &room, room.count)
    if count > 0 { return isOwnRequest(room[..<count]) ? PressureMonitor.pause : callbacks.pressure() }
    return count < 0 && errno == EAGAIN ? PressureMonitor.pause : reopen()
  }

  /// Whether this is the request written here, which the other process has not read.
  private func isOwnRequest(_ bytes: ArraySlice<UInt8>) -> Bool {
    defer { ownRequest = [] }
    return bytes.elementsEqual(ownRequest)
  }

  /// The last writer has closed. A FIFO that is opened anew waits for the next writer without being
  /// ready all the time; what a writer writes meanwhile is kept, as the old descriptor is still open.
  private func reopen() -> Duration? {
    do throws(PressureProblem) {
      guard isFIFO else { throw .call("read", path) }
      try listen(to: Self.open(fifo: path), after: PressureMonitor.pause)
    } catch { callbacks.ended(isFIFO ? "\(error)" : "\(path) was closed by its other side") }
    return nil
  }

  private static func open(fifo path: String, _ access: CInt = O_RDONLY) throws(PressureProblem) -> FileDescriptor {
    let number = unsafe Glibc.open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard number >= 0 else { throw .call("open", path) }
    let fifo = FileDescriptor(owning: number)
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { throw .unknownKind(path) }
    return fifo
  }

  private static func open(fifo path: String, sending request: [UInt8]) throws(PressureProblem) -> FileDescriptor {
    let fifo = try open(fifo: path, O_RDWR)
    // Read for the length of the call, no further than its count.
    let count = unsafe write(fifo.number, request, request.count)
    guard count >= 0 else { throw .call("write", path) }
    guard count == request.count else { throw .cutShort(path) }
    return fifo
  }

  private static func connect(_ path: String, sending request: [UInt8]) throws(PressureProblem) -> FileDescriptor {
    let number = linux_unix_socket()
    guard number >= 0 else { throw .call("socket", path) }
    let socket = FileDescriptor(owning: number)
    // The path is a C string for the length of the call.
    guard unsafe linux_connect_unix(number, path) == 0 else { throw .call("connect", path) }
    guard !request.isEmpty else { return socket }
    // Read for the length of the call, no further than its count.
    let count = unsafe linux_send(number, request, request.count, -1)
    guard count >= 0 else { throw .call("send", path) }
    guard count == request.count else { throw .cutShort(path) }
    return socket
  }
}
