// The bytes of a body, complete and never changed again; all targets pass them in this form. A small body is kept as
// plain bytes on the heap, a large one in a sealed memfd, which can be passed to another process as it is.
// Descriptors are a limited resource like memory: a hundred thousand icons must not need a hundred thousand
// descriptors, and a picture of 28 kB must not be copied through a socket. The limit is `Payload.heapLimit`; a small
// payload becomes shareable when a descriptor is asked for (`shareable()`). Most never need one, and on their way to
// the disk a memfd would cost four system calls for nothing, one of them a mapping to look at it.

internal import CLinux
import Glibc

/// The immutable bytes of a whole body, on the heap or in a sealed memfd.
package struct Payload: Sendable {
  /// Bodies up to this size stay on the heap; for much larger ones the heap would ask the kernel each time.
  package static let heapLimit = 64 * 1024

  private enum Place {
    case heap([UInt8])
    case memory(SealedMemory)
  }

  private let place: Place

  package init(_ bytes: [UInt8]) { place = .heap(bytes.trimmed) }

  init(sealed memory: SealedMemory) { place = .memory(memory) }

  /// How many bytes there are.
  package var count: Int {
    switch place {
    case .heap(let bytes): bytes.count
    case .memory(let memory): memory.count
    }
  }

  private var memory: SealedMemory? { if case .memory(let memory) = place { memory } else { nil } }

  /// Whether the bytes are in a memfd already.
  package var isShareable: Bool { memory != nil }

  /// The memory that it takes: whole pages and the kernel's share for a memfd, otherwise its bytes.
  package var cost: Int { memory?.cost ?? count }

  /// Lends the bytes for the duration of the call.
  package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    switch place {
    case .heap(let bytes): return try body(bytes.span)
    case .memory(let memory): return try memory.withBytes(body)
    }
  }

  /// The bytes in an array of their own, unless they are in one already.
  package var bytes: [UInt8] {
    switch place {
    case .heap(let bytes): bytes
    case .memory(let memory): memory.withBytes { span in unsafe span.withUnsafeBufferPointer { unsafe [UInt8]($0) } }
    }
  }

  /// This payload, or a copy of it in a sealed memfd; one that is to be kept takes none of the last descriptors.
  package func shareable(toKeep isKept: Bool = false) throws(SystemFailure) -> Payload {
    guard case .heap(let bytes) = place else { return self }
    var writer = isKept ? try MemoryWriter.toKeep() : try MemoryWriter()
    try writer.append(bytes)
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

  /// Identifies the memfd across processes; nil for bytes on the heap.
  package var identity: FileStatus.Identity? { memory?.identity }

  /// A copy of some of the bytes of a memfd; nil when it is shorter.
  package func part(from start: Int, count: Int) -> Payload? {
    guard let memory, start >= 0, count >= 0, start <= self.count, count <= self.count - start else { return nil }
    return try? memory.part(from: start, count: count)
  }

  /// The descriptor of the memfd, to be sent to another process; nil for bytes on the heap.
  package var descriptor: CInt? { memory?.number }

  // MARK: The last descriptors

  /// Whether it holds one of the last descriptors, which are reserved for clients, downloads and files.
  package var takesReserve: Bool { memory.map { OpenFiles.isReserve($0.number) } ?? false }

  /// The same bytes under the lowest descriptor that is free now. If that would be one of the last, too, a few
  /// bytes move to the heap, and more stay where they are: copying them would hold up others.
  package func outsideReserve() -> Payload {
    guard let memory, OpenFiles.isReserve(memory.number) else { return self }
    if let moved = memory.renumbered(), !OpenFiles.isReserve(moved.number) { return Payload(sealed: moved) }
    return count <= Self.heapLimit ? Payload(bytes) : self
  }

  // MARK: Files

  /// Writes the bytes at the file's offset; those in a memfd are copied within the kernel.
  package func copy(to file: borrowing FileDescriptor) throws(SystemFailure) {
    switch place {
    case .heap(let bytes):
      let failure = unsafe bytes.withUnsafeBytes { unsafe file.write(all: $0, to: "a file") }
      if let failure { throw failure }
    case .memory(let memory): try memory.copy(to: file)
    }
  }

  /// Reads a file of exactly `count` bytes; nil when it has fewer or more. The caller has made sure of the memory.
  package static func read(_ file: borrowing FileDescriptor, count: Int) throws(SystemFailure) -> Payload? {
    guard count >= 0, try file.ends(at: count) else { return nil }
    // Without a descriptor the bytes go to the heap: a picture that must be copied is better than none.
    guard count > heapLimit, var writer = try? MemoryWriter.toKeep() else {
      let bytes = try file.front(count)
      return bytes.count == count ? Payload(bytes) : nil
    }
    guard try writer.append(file, limit: count) == count else { return nil }
    return Payload(sealed: try writer.seal())
  }

  /// Reads a whole file of `count` bytes to the heap, without waiting for the disk; nil where that is impossible.
  package static func readAtHand(_ file: borrowing FileDescriptor, count: Int) -> Payload? {
    file.frontAtHand(count).map { Payload($0) }
  }
}

/// Collects a body as it arrives: on the heap at first, in a memfd from `Payload.heapLimit` on.
package struct PayloadWriter: ~Copyable {
  private var heap: [UInt8] = []
  private var memory: MemoryWriter?
  /// How many bytes there will be, as far as is known.
  private var expected = 0

  /// How many bytes have been appended.
  package private(set) var count = 0

  package init() {}

  /// Prepares for this many bytes in all; there may be more or fewer in the end.
  package mutating func expect(_ total: Int) {
    expected = total
    if memory == nil, total <= Payload.heapLimit { heap.reserveCapacity(total) }
  }

  /// Adds bytes to the end; they are copied.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemFailure) {
    let total = max(count + bytes.count, expected)
    if memory == nil, total > Payload.heapLimit { try moveToMemory() }
    if memory == nil { unsafe heap.append(contentsOf: bytes) } else { try unsafe memory?.append(bytes) }
    count += bytes.count
  }

  /// Drops everything, for a transfer that starts again.
  package mutating func reset() {
    heap.removeAll()
    memory = nil
    count = 0
    expected = 0
  }

  /// Seals the collected bytes; the writer is empty afterwards.
  package mutating func finish() throws(SystemFailure) -> Payload {
    defer { reset() }
    guard let memory = memory.take() else { return Payload(heap) }
    return Payload(sealed: try memory.seal())
  }

  private mutating func moveToMemory() throws(SystemFailure) {
    guard var writer = try? MemoryWriter.toKeep() else { return }
    if !heap.isEmpty { try writer.append(heap) }
    memory = consume writer
    heap = []
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

extension [UInt8] {
  /// The same bytes without the capacity that an array keeps for growing, up to half of it.
  fileprivate var trimmed: [UInt8] {
    guard capacity - count > count / 8 + 16 else { return self }
    var exact: [UInt8] = []
    exact.reserveCapacity(count)
    exact.append(contentsOf: self)
    return exact
  }
}
