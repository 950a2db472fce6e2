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

  /// Writes the request into a FIFO, if it is writable, and reads from it; or connects to a stream socket and sends
  /// the request first. A FIFO's writer may be followed by another. The process at the other end reads the same FIFO,
  /// so nothing is read here for a moment. A socket ends with its peer.
  init(_ path: String, isFIFO: Bool, request: [UInt8], loop: EventLoop, callbacks: PressureCallbacks)
    throws(PressureProblem)
  {
    self.path = path
    self.isFIFO = isFIFO
    self.loop = loop
    self.callbacks = callbacks
    if !isFIFO {
      try listen(to: Self.connect(path, sending: request))
    } else if !request.isEmpty, unsafe access(path, W_OK) == 0 {
      ownRequest = request
      let fifo = try Self.open(fifo: path, O_RDWR)
      try writeWhole(request, to: fifo, path)
      try listen(to: fifo, after: PressureMonitor.pause)
    } else {
      try listen(to: Self.open(fifo: path))
    }
  }

  private func listen(to descriptor: consuming FileDescriptor, after pause: Duration? = nil) throws(PressureProblem) {
    let number = descriptor.number
    watch = try BackoffWatch(sensing: descriptor, for: .read, on: loop, after: pause) { [unowned self] _ in
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

  private static func connect(_ path: String, sending request: [UInt8]) throws(PressureProblem) -> FileDescriptor {
    let number = linux_unix_socket()
    guard number >= 0 else { throw .call("socket", path) }
    let socket = FileDescriptor(owning: number)
    guard unsafe linux_connect_unix(number, path) == 0 else { throw .call("connect", path) }
    guard !request.isEmpty else { return socket }
    let count = unsafe linux_send(number, request, request.count, -1)
    guard count >= 0 else { throw .call("send", path) }
    guard count == request.count else { throw .cutShort(path) }
    return socket
  }
}

/// A PSI trigger of the kernel, fired while tasks wait for memory; not read, as for reading it is always ready.
final class StallTrigger {
  /// Some task has waited for 200 ms out of 2 s, the shortest window without privileges.
  /// The zero is part of it: the kernel overwrites the last byte.
  static let usual = Array("some 200000 2000000\0".utf8)

  private let watch: BackoffWatch

  init(_ trigger: [UInt8], on path: String, loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    let access = trigger.isEmpty ? O_RDONLY : O_RDWR
    let number = unsafe open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard number >= 0 else { throw .call("open", path) }
    let file = FileDescriptor(owning: number)
    try Self.refuseOrdinary(file, path, loop)
    if !trigger.isEmpty { try writeWhole(trigger, to: file, path) }
    watch = try BackoffWatch(sensing: file, for: .priority, on: loop) { events in
      guard events.contains(.hangup) else { return callbacks.pressure() }
      callbacks.ended("\(path) no longer fires")
      return nil
    }
  }

  /// A file that the kernel cannot poll is an ordinary one, and must not be written to.
  private static func refuseOrdinary(_ file: borrowing FileDescriptor, _ path: String, _ loop: EventLoop)
    throws(PressureProblem)
  {
    do throws(SystemFailure) { try loop.watch(file.number, for: .priority) { _ in }.cancel() } catch {
      throw error.errno == EPERM ? .ordinaryFile(path) : .system(error)
    }
  }
}

/// In one write: the kernel accepts one trigger for each open file.
private func writeWhole(_ bytes: [UInt8], to file: borrowing FileDescriptor, _ path: String) throws(PressureProblem) {
  let count = unsafe write(file.number, bytes, bytes.count)
  guard count >= 0 else { throw .call("write", path) }
  guard count == bytes.count else { throw .cutShort(path) }
}

/// Watches the counters in `memory.events`: how often a control group has reached its own limits.
final class LimitWatch {
  private let path: String
  private let callbacks: PressureCallbacks
  private var count: Int
  private var watch: BackoffWatch?

  /// A group without limits never reaches any, and is refused.
  init(of directory: String, loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    path = directory + "/memory.events"
    self.callbacks = callbacks
    let notes = try Self.changes(of: path)
    guard let count = Self.count(in: path) else { throw .unreadable([path]) }
    guard Self.hasLimit(directory) else { throw .noLimit(directory) }
    self.count = count
    let number = notes.number
    watch = try BackoffWatch(sensing: notes, for: .read, on: loop) { [unowned self] _ in look(number) }
  }

  private func look(_ notes: CInt) -> Duration? {
    var room = [UInt8](repeating: 0, count: 4096)
    _ = unsafe read(notes, &room, room.count)
    guard let now = Self.count(in: path) else {
      callbacks.ended("\(path) can no longer be read")
      return nil
    }
    defer { count = now }
    return now > count ? callbacks.pressure() : PressureMonitor.pause
  }

  private static func changes(of path: String) throws(PressureProblem) -> FileDescriptor {
    let number = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw .call("inotify_init1", path) }
    let notes = FileDescriptor(owning: number)
    guard unsafe inotify_add_watch(number, path, UInt32(IN_MODIFY | IN_DELETE_SELF)) >= 0 else {
      throw .call("inotify_add_watch", path)
    }
    return notes
  }

  /// How often the kernel has throttled the group at one of its limits: the sum of `high` and `max`.
  static func count(in path: String) -> Int? {
    guard let text = SmallFile.text(path) else { return nil }
    let counts = text.split(separator: "\n").compactMap { line in
      ["high ", "max "].first(where: line.hasPrefix).flatMap { decimalNumber(line.utf8.dropFirst($0.utf8.count)) }
    }
    return counts.isEmpty ? nil : counts.reduce(0, &+)
  }

  private static func hasLimit(_ directory: String) -> Bool {
    ["/memory.high", "/memory.max"].contains { name in
      SmallFile.text(directory + name).map { !$0.hasPrefix("max") } ?? false
    }
  }
}

/// Polls the stalls where the kernel sends no notification.
final class StallSampling {
  static let interval = Duration.seconds(2)
  /// The same share of an interval as for a trigger, in microseconds.
  static let threshold = 200_000

  private let path: String
  private let loop: EventLoop
  private let callbacks: PressureCallbacks
  private var total: Int
  private var timer: Timer?

  /// Reads the first of the files that can be read.
  init(of paths: [String], loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    let readable = paths.lazy.compactMap { path in Stalls(readFrom: path).map { (path, $0) } }
    guard let (path, stalls) = readable.first else { throw .unreadable(paths) }
    self.path = path
    self.loop = loop
    self.callbacks = callbacks
    total = stalls.total
    wait(Self.interval)
  }

  deinit { timer?.cancel() }

  private func wait(_ delay: Duration) { timer = loop.schedule(after: delay) { [unowned self] in look() } }

  private func look() {
    guard let now = Stalls(readFrom: path)?.total else { return callbacks.ended("\(path) can no longer be read") }
    let growth = now - total
    total = now
    wait(growth > Self.threshold ? max(callbacks.pressure(), Self.interval) : Self.interval)
  }
}

/// How long tasks have waited for memory, from the kernel's pressure stall information (PSI).
struct Stalls: Equatable {
  /// The share of the last ten seconds, in hundredths of a per cent.
  let recent: Int
  /// The time since the machine started, in microseconds.
  let total: Int

  /// Whether some task has waited for more than one hundredth of the last ten seconds.
  var isPressure: Bool { recent >= 100 }

  init?(readFrom path: String) {
    guard let text = SmallFile.text(path) else { return nil }
    self.init(text)
  }

  /// Reads `some avg10=0.12 avg60=… avg300=… total=345`, which the kernel writes first.
  init?(_ text: String) {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
      let recent = Self.value(of: "avg10=", in: line).flatMap(Self.hundredths),
      let total = Self.value(of: "total=", in: line).flatMap({ decimalNumber($0.utf8) })
    else { return nil }
    self.recent = recent
    self.total = total
  }

  private static func value(of name: String, in line: Substring) -> Substring? {
    line.split(separator: " ").first { $0.hasPrefix(name) }?.dropFirst(name.utf8.count)
  }

  /// A number with two digits after its point, read without the point.
  private static func hundredths(_ text: Substring) -> Int? {
    guard text.utf8.dropLast(2).last == UInt8(ascii: ".") else { return nil }
    return decimalNumber(Array(text.utf8.dropLast(3)) + text.utf8.suffix(2))
  }
}

extension BackoffWatch {
  /// Watches the descriptor of a source of memory pressure.
  fileprivate convenience init(
    sensing descriptor: consuming FileDescriptor, for interest: Interest, on loop: EventLoop,
    after firstPause: Duration? = nil, _ handler: @escaping (Readiness) -> Duration?
  ) throws(PressureProblem) {
    do throws(SystemFailure) {
      try self.init(descriptor, for: interest, on: loop, after: firstPause, handler)
    } catch { throw .system(error) }
  }
}
