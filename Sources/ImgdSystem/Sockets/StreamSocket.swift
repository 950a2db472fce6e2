internal import CLinux
import Glibc

/// A read buffer that all clients of a loop share, so that an idle client needs none.
@safe package final class ReadScratch {
  // Safe: allocated once, and lent only as a span of the bytes that a read has filled.
  fileprivate let room: UnsafeMutableRawBufferPointer
  fileprivate let reader: UnsafeMutablePointer<linux_reader>

  package init(capacity: Int = 64 * 1024) {
    unsafe room = .allocate(byteCount: capacity, alignment: 16)
    unsafe reader = .allocate(capacity: 1)
    unsafe linux_set_up(reader, room.baseAddress, capacity)
  }

  deinit {
    unsafe reader.deallocate()
    unsafe room.deallocate()
  }

  /// Whether descriptors came with the last bytes of the last `receive`; they must be taken before the next one.
  package var hasDescriptors: Bool {
    @inline(__always) get { unsafe linux_has_handed(reader) != 0 }
  }

  /// The descriptors of the last `receive`, at most two of them: more than one is always too many.
  package func takeDescriptors() -> [HandedFile] {
    var numbers: [CInt] = [-1, -1]
    let count = unsafe linux_take_handed(reader, &numbers)
    return numbers.prefix(Int(count)).map { HandedFile(.descriptor(number: $0)) }
  }

  /// The first `count` bytes of the last read.
  package func withBytes<R>(_ count: Int, _ body: (Span<UInt8>) -> R) -> R {
    let filled = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
    return unsafe body(filled.bindMemory(to: UInt8.self).span)
  }
}

/// One end of a Unix stream connection; its calls never wait.
package struct StreamSocket: ~Copyable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Gives the descriptor away: the caller closes it from here on.
  package consuming func release() -> CInt { descriptor.release() }

  /// The result of a read.
  package enum Arrival: Equatable {
    case bytes(Int)
    case nothing
    /// The peer has shut its writing side.
    case end
    case broken
  }

  /// Reads once. The kernel closes descriptors that the peer attached.
  package func read(into scratch: ReadScratch) -> Arrival {
    arrival(unsafe linux_receive(descriptor.number, scratch.room.baseAddress, scratch.room.count))
  }

  /// Reads once, with descriptors that the peer attached.
  package func receive(into scratch: ReadScratch) -> Arrival {
    arrival(unsafe linux_receive_handed(descriptor.number, scratch.reader))
  }

  @inline(__always) private func arrival(_ count: Int) -> Arrival {
    if count > 0 { return .bytes(count) }
    if count == 0 { return .end }
    return errno == EAGAIN || errno == EINTR ? .nothing : .broken
  }

  /// Makes the kernel take no more from the peer, which learns of it when it writes. Bytes that have
  /// arrived can still be read; they end with `.end`.
  package func endReceiving() { shutdown(descriptor.number, CInt(SHUT_RD)) }

  /// Tells the peer that nothing more will come.
  package func endSending() { shutdown(descriptor.number, CInt(SHUT_WR)) }

  /// Sends part of `bytes`; -1 and `errno` when nothing was sent.
  func send(_ bytes: [UInt8], in range: Range<Int>, with attached: CInt?) -> Int {
    unsafe bytes.withUnsafeBytes { whole in
      let part = unsafe UnsafeRawBufferPointer(rebasing: whole[range])
      return unsafe linux_send(descriptor.number, part.baseAddress, part.count, attached ?? -1)
    }
  }
}

/// The process at the other end of a Unix socket, as the kernel recorded it on connecting.
package struct PeerCredentials: Sendable, Equatable {
  package let pid: Int32
  package let uid: UInt32
  package let gid: UInt32

  package init(pid: Int32, uid: UInt32, gid: UInt32) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
  }

  package init(of socket: borrowing StreamSocket) throws(SystemFailure) {
    var pid: pid_t = 0
    var uid: uid_t = 0
    var gid: gid_t = 0
    guard unsafe linux_peer(socket.descriptor.number, &pid, &uid, &gid) == 0 else {
      throw SystemFailure("getsockopt SO_PEERCRED")
    }
    self.init(pid: pid, uid: uid, gid: gid)
  }
}

/// The client's end of a Unix stream connection: descriptors may arrive with the bytes, and only `wait` waits.
package struct ClientSocket: ~Copyable {
  private let stream: StreamSocket

  /// The descriptor, for a loop to watch.
  package var number: CInt { stream.descriptor.number }

  /// Connects; if the daemon has too many connections to accept, it waits, or fails if it may not wait.
  package init(path: String, mayWait: Bool = true) throws(SystemFailure) {
    let number = mayWait ? socket(AF_UNIX, Self.waiting, 0) : linux_unix_socket()
    let descriptor = try FileDescriptor(returned: number, by: "socket")
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

  /// Waits until there is something to read, or, if wanted, room to write; false when the deadline passes first. Before
  /// it sleeps, it looks so many times, and lets others have the processor in between.
  package func wait(forRoom: Bool, until deadline: Instant?, looking times: Int = 0) throws(SystemFailure) -> Bool {
    let interest = UInt32(forRoom ? LINUX_READ | LINUX_WRITE : LINUX_READ)
    for _ in 0..<times {
      if linux_wait(stream.descriptor.number, interest, 0) > 0 { return true }
      sched_yield()
    }
    while true {
      let limit = deadline.map { max(0, ($0 - .current).nanoseconds) } ?? -1
      let ready = linux_wait(stream.descriptor.number, interest, limit)
      if ready > 0 { return true }
      guard ready == 0 || errno == EINTR else { throw SystemFailure("poll") }
      if let deadline, Instant.current >= deadline { return false }
    }
  }
}

/// Bytes on their way to a peer, and the descriptors that are attached to some of them. Writers append to `bytes`. A
/// descriptor is attached to the byte that is appended next, and is sent in a `sendmsg` that begins with that byte
/// and ends before the next byte with a descriptor, or with the last byte that the descriptor is for.
package struct Outbox: ~Copyable {
  private struct AttachedDescriptor {
    let shared: SharedDescriptor
    let position: Int
    /// The position after the last byte that may be in its message.
    let end: Int
  }

  /// A larger buffer is freed when it runs empty; until then up to this many sent bytes may stay before the rest.
  private static let keptCapacity = 64 * 1024

  /// The bytes not yet sent, after `head` bytes that are.
  package var bytes: [UInt8] = []
  private var head = 0
  /// Bytes that were removed from `bytes`; the position of a descriptor counts them too.
  private var gone = 0
  private var attached = Fifo<AttachedDescriptor>()

  package init() {}

  /// How many bytes wait to be sent.
  package var unsent: Int { bytes.count - head }

  /// How many descriptors wait to be sent.
  package var descriptors: Int { attached.count }

  /// Whether more than `limit` bytes wait, or `most` descriptors or more.
  package func isBeyond(bytes limit: Int, descriptors most: Int) -> Bool { unsent > limit || descriptors >= most }

  /// Attaches `descriptor` to the byte that is appended next; a byte carries one at most.
  package mutating func attach(_ descriptor: consuming FileDescriptor) { attach(SharedDescriptor(descriptor)) }

  /// Attaches a descriptor that the caller keeps as well; with `count`, no more bytes go with it.
  package mutating func attach(_ shared: SharedDescriptor, toNext count: Int? = nil) {
    let position = gone + bytes.count
    let last = attached.last?.position ?? -1
    precondition(last < position, "the next byte carries a descriptor already")
    attached.append(AttachedDescriptor(shared: shared, position: position, end: count.map { position + $0 } ?? .max))
  }

  /// The result of an attempt to send.
  package enum Progress {
    case emptied
    /// The peer accepts no more for now.
    case blocked
    /// The peer is gone.
    case broken
  }

  /// Sends as much as the peer accepts, without waiting.
  package mutating func send(to socket: borrowing StreamSocket) -> Progress {
    while head < bytes.count {
      let next = nextAttached()
      let sent = socket.send(bytes, in: head..<end(of: next), with: next?.shared.descriptor.number)
      guard sent >= 0 else { return stop(errno) }
      if next != nil { _ = attached.popFirst() }
      head += sent
    }
    recycle()
    return .emptied
  }

  private func nextAttached() -> AttachedDescriptor? {
    guard let first = attached[0], first.position == gone + head else { return nil }
    return first
  }

  private func end(of current: AttachedDescriptor?) -> Int {
    let next = attached[current == nil ? 0 : 1]?.position ?? .max
    return min(gone + bytes.count, next, current?.end ?? .max) - gone
  }

  private mutating func stop(_ reason: CInt) -> Progress {
    compact()
    return reason == EAGAIN ? .blocked : .broken
  }

  /// A slow reader may always leave bytes unsent; the sent bytes before them must not accumulate.
  private mutating func compact() {
    guard head > Self.keptCapacity, head >= unsent else { return }
    bytes.removeFirst(head)
    gone += head
    head = 0
  }

  private mutating func recycle() {
    gone += bytes.count
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    head = 0
  }
}
