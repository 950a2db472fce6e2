// The bytes of a body, complete and never changed again; all targets pass them in this form. A small body is kept as
// plain bytes in memory of its own (`BodySlabs`), a large one in a sealed memfd, which can be passed to another process as it is.
// Descriptors are a limited resource like memory: a hundred thousand icons must not need a hundred thousand
// descriptors, and a picture of 28 kB must not be copied through a socket. The limit is `Payload.heapLimit`; a small
// payload becomes shareable when a descriptor is asked for (`shareable()`). Most never need one, and on their way to
// the disk a memfd would cost four system calls for nothing, one of them a mapping to look at it.

internal import CLinux
import Glibc

/// The immutable bytes of a whole body, plain or in a sealed memfd.
package struct Payload: Sendable {
  /// Bodies up to this size stay plain bytes.
  package static let heapLimit = Int(SLABS_MOST)

  private enum Place {
    case plain(PlainBytes)
    case memory(SealedMemory)
  }

  private let place: Place

  /// A copy of some bytes.
  package init(_ bytes: Span<UInt8>) { self.init(plain: PlainBytes(bytes)) }

  package init(_ bytes: [UInt8]) { self.init(bytes.span) }

  init(plain: PlainBytes) { place = .plain(plain) }

  init(sealed memory: SealedMemory) { place = .memory(memory) }

  /// How many bytes there are.
  package var count: Int {
    switch place {
    case .plain(let plain): plain.count
    case .memory(let memory): memory.count
    }
  }

  private var memory: SealedMemory? { if case .memory(let memory) = place { memory } else { nil } }

  /// Whether the bytes are in a memfd already.
  package var isShareable: Bool { memory != nil }

  /// The memory that it takes, with what its bytes are rounded up to.
  package var cost: Int {
    switch place {
    case .plain(let plain): plain.cost
    case .memory(let memory): memory.cost
    }
  }

  /// Lends the bytes for the duration of the call.
  package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    switch place {
    case .plain(let plain): return try plain.withBytes(body)
    case .memory(let memory): return try memory.withBytes(body)
    }
  }

  /// A copy of the bytes.
  package var bytes: [UInt8] { withBytes { span in unsafe span.withUnsafeBufferPointer { unsafe [UInt8]($0) } } }

  /// This payload, or a copy of it in a sealed memfd; one that is to be kept takes none of the last descriptors.
  package func shareable(toKeep isKept: Bool = false) throws(SystemFailure) -> Payload {
    guard case .plain = place else { return self }
    var writer = isKept ? try MemoryWriter.toKeep() : try MemoryWriter()
    try writer.append(self)
    return Payload(sealed: try writer.seal())
  }

  /// A new read-only description of the memfd, with an offset of its own. Every receiver gets one, because receivers
  /// that share a description share its offset too.
  package func openReadOnly() throws(SystemFailure) -> FileDescriptor {
    guard let memory else { return try shareable().openReadOnly() }
    return try memory.reopen()
  }

  // MARK: From one process to the next

  /// Takes over the memfd of another process; nil unless it is sealed against every change.
  package static func adopt(_ descriptor: consuming FileDescriptor) -> Payload? {
    SealedMemory(adopting: descriptor).map { Payload(sealed: $0) }
  }

  /// Identifies the memfd across processes; nil for plain bytes.
  package var identity: FileStatus.Identity? { memory?.identity }

  /// A copy of some of the bytes of a memfd; nil when it is shorter.
  package func part(from start: Int, count: Int) -> Payload? {
    guard let memory, start >= 0, count >= 0, start <= self.count, count <= self.count - start else { return nil }
    return try? memory.part(from: start, count: count)
  }

  /// The descriptor of the memfd, to be sent to another process; nil for plain bytes.
  package var descriptor: CInt? { memory?.number }

  // MARK: The last descriptors

  /// Whether it holds one of the last descriptors, which are reserved for clients, downloads and files.
  package var takesReserve: Bool { memory.map { OpenFiles.isReserve($0.number) } ?? false }

  /// The same bytes under the lowest descriptor that is free now. If that would be one of the last, too, a few
  /// bytes become plain, and more stay where they are: copying them would hold up others.
  package func outsideReserve() -> Payload {
    guard let memory, OpenFiles.isReserve(memory.number) else { return self }
    if let moved = memory.renumbered(), !OpenFiles.isReserve(moved.number) { return Payload(sealed: moved) }
    return count <= Self.heapLimit ? plain : self
  }

  /// The same bytes without a descriptor.
  package var plain: Payload { isShareable ? withBytes { Payload($0) } : self }

  // MARK: Files

  /// Writes the bytes at the file's offset; those in a memfd are copied within the kernel.
  package func copy(to file: borrowing FileDescriptor) throws(SystemFailure) {
    switch place {
    case .plain(let plain):
      defer { withExtendedLifetime(plain) {} }
      if let failure = unsafe file.write(all: plain.bytes, to: "a file") { throw failure }
    case .memory(let memory): try memory.copy(to: file)
    }
  }

  /// Reads a file of exactly `count` bytes; nil when it has fewer or more. The caller has made sure of the memory.
  package static func read(_ file: borrowing FileDescriptor, count: Int) throws(SystemFailure) -> Payload? {
    guard count >= 0, try file.ends(at: count) else { return nil }
    // Without a descriptor the bytes are plain: a picture that must be copied is better than none.
    guard count > heapLimit, var writer = try? MemoryWriter.toKeep() else { return try part(of: file, count: count) }
    guard try writer.append(file, limit: count) == count else { return nil }
    return Payload(sealed: try writer.seal())
  }

  /// Reads a whole file of `count` bytes as plain ones, without waiting for the disk; nil where that is impossible.
  package static func readAtHand(_ file: borrowing FileDescriptor, count: Int) -> Payload? {
    let plain = PlainBytes(room: count)
    return unsafe plain.fill { unsafe file.fillAtHand($0) } ? Payload(plain: plain) : nil
  }

  /// Reads `count` bytes of a file from `start` on as plain ones; nil when it has fewer.
  static func part(
    of file: borrowing FileDescriptor, from start: Int = 0, count: Int
  ) throws(SystemFailure) -> Payload? {
    let plain = PlainBytes(room: count)
    let isWhole = try unsafe plain.fill { (room) throws(SystemFailure) in try unsafe file.fill(room, from: start) }
    return isWhole ? Payload(plain: plain) : nil
  }
}

/// Collects a body as it arrives: as plain bytes at first, in a memfd from `Payload.heapLimit` on.
package struct PayloadWriter: ~Copyable {
  private var plain: PlainBytes?
  private var memory: MemoryWriter?
  /// How many bytes there will be, as far as is known.
  private var expected = 0

  /// How many bytes have been appended.
  package private(set) var count = 0

  package init() {}

  /// Prepares for this many bytes in all; there may be more or fewer in the end.
  package mutating func expect(_ total: Int) {
    expected = total
    if memory == nil, total <= Payload.heapLimit { plainBytes().reserve(total) }
  }

  /// Adds bytes to the end; they are copied.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemFailure) {
    let total = max(count + bytes.count, expected)
    if memory == nil, total > Payload.heapLimit { try moveToMemory() }
    if memory == nil { unsafe plainBytes().append(bytes) } else { try unsafe memory?.append(bytes) }
    count += bytes.count
  }

  private mutating func plainBytes() -> PlainBytes {
    if let plain { return plain }
    let new = PlainBytes(room: min(max(expected, 0), Payload.heapLimit))
    plain = new
    return new
  }

  /// Drops everything, for a transfer that starts again.
  package mutating func reset() { self = PayloadWriter() }

  /// Seals the collected bytes; the writer is empty afterwards.
  package mutating func finish() throws(SystemFailure) -> Payload {
    defer { reset() }
    if let memory = memory.take() { return Payload(sealed: try memory.seal()) }
    let plain = plainBytes()
    plain.trim()
    return Payload(plain: plain)
  }

  private mutating func moveToMemory() throws(SystemFailure) {
    guard var writer = try? MemoryWriter.toKeep() else { return }
    if let plain = plain.take() { try writer.append(Payload(plain: plain)) }
    memory = consume writer
  }
}

/// Collects many bodies in one memfd, one after the other. It goes to the service manager's descriptor store: five
/// hundred single descriptors would cost the manager a hundred thousand comparisons.
package struct PayloadPack: ~Copyable {
  private var memory: MemoryWriter?
  private var count = 0

  package init() {}

  /// Whether there is no memfd yet.
  package var isEmpty: Bool { memory == nil }

  /// Adds a copy of a body to the end; returns where it begins.
  package mutating func append(_ payload: Payload) throws(SystemFailure) -> Int {
    if memory == nil { memory = try MemoryWriter() }
    try memory?.append(payload)
    defer { count += payload.count }
    return count
  }

  /// All the bodies; nil when there are none.
  package consuming func seal() throws(SystemFailure) -> Payload? {
    guard let memory else { return nil }
    return Payload(sealed: try memory.seal())
  }
}
