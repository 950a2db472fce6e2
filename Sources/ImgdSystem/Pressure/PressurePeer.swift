internal import CLinux
import Glibc

/// Somebody who tells of memory pressure by sending bytes, whatever they are.
final class PressurePeer {
  private let path: String
  private let isFIFO: Bool
  /// What was written into a FIFO, until something has been read from it.
  private var echo: [UInt8] = []
  private let loop: EventLoop
  private let ear: PressureEar
  private var watch: RestingWatch?

  /// Says into a FIFO what is wanted, if it may be written, and listens to it. A writer that goes
  /// makes room for the next one.
  ///
  /// Who is at the other end reads from the same FIFO, so nothing is read for a moment.
  init(
    fifo path: String, greeting: [UInt8], loop: EventLoop, ear: PressureEar
  ) throws(PressureProblem) {
    self.path = path
    self.loop = loop
    self.ear = ear
    isFIFO = true
    // The path is a C string for the length of the call.
    if !greeting.isEmpty, unsafe access(path, W_OK) == 0 {
      echo = greeting
      try listen(to: Self.open(fifo: path, saying: greeting), after: PressureWatch.breath)
    } else {
      try listen(to: Self.open(fifo: path))
    }
  }

  /// Connects to a stream socket and says first what is wanted. When the other side closes, that
  /// is the end.
  init(
    socket path: String, greeting: [UInt8], loop: EventLoop, ear: PressureEar
  ) throws(PressureProblem) {
    self.path = path
    self.loop = loop
    self.ear = ear
    isFIFO = false
    try listen(to: Self.connect(path, saying: greeting))
  }

  private func listen(
    to descriptor: consuming FileDescriptor, after rest: Duration? = nil
  ) throws(PressureProblem) {
    let number = descriptor.number
    watch = try RestingWatch(descriptor, for: .read, on: loop, after: rest) { [unowned self] _ in
      take(from: number)
    }
  }

  /// Reads what has come, as much as a pipe can hold, and forgets it.
  private func take(from number: CInt) -> Duration? {
    var room = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(number, &room, room.count)
    if count > 0 { return isEcho(room[..<count]) ? PressureWatch.breath : ear.pressure() }
    return count < 0 && errno == EAGAIN ? PressureWatch.breath : goOn()
  }

  /// Whether this is what was written here, and has been read by nobody else.
  private func isEcho(_ bytes: ArraySlice<UInt8>) -> Bool {
    defer { echo = [] }
    return bytes.elementsEqual(echo)
  }

  /// Nobody writes any more. A FIFO that is opened anew waits for the next writer without being
  /// ready all the time; what a writer leaves meanwhile is kept, as the old one is still open.
  private func goOn() -> Duration? {
    do throws(PressureProblem) {
      guard isFIFO else { throw .call("read", path) }
      try listen(to: Self.open(fifo: path), after: PressureWatch.breath)
    } catch {
      ear.ended(isFIFO ? "\(error)" : "\(path) was closed by its other side")
    }
    return nil
  }

  private static func open(
    fifo path: String, _ access: CInt = O_RDONLY
  ) throws(PressureProblem) -> FileDescriptor {
    let number = unsafe Glibc.open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard number >= 0 else { throw .call("open", path) }
    let fifo = FileDescriptor(owning: number)
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      throw .unknownKind(path)
    }
    return fifo
  }

  private static func open(
    fifo path: String, saying greeting: [UInt8]
  ) throws(PressureProblem) -> FileDescriptor {
    let fifo = try open(fifo: path, O_RDWR)
    // Read for the length of the call, no further than its count.
    let count = unsafe write(fifo.number, greeting, greeting.count)
    guard count >= 0 else { throw .call("write", path) }
    guard count == greeting.count else { throw .cutShort(path) }
    return fifo
  }

  private static func connect(
    _ path: String, saying greeting: [UInt8]
  ) throws(PressureProblem) -> FileDescriptor {
    let number = linux_unix_socket()
    guard number >= 0 else { throw .call("socket", path) }
    let socket = FileDescriptor(owning: number)
    // The path is a C string for the length of the call.
    guard unsafe linux_connect_unix(number, path) == 0 else { throw .call("connect", path) }
    guard !greeting.isEmpty else { return socket }
    // Read for the length of the call, no further than its count.
    let count = unsafe linux_send(number, greeting, greeting.count, -1)
    guard count >= 0 else { throw .call("send", path) }
    guard count == greeting.count else { throw .cutShort(path) }
    return socket
  }
}
