// The currency of the house: the bytes of a body, complete, and never changed again.
//
// A small body lives as plain bytes on the heap, a large one in a memfd that is sealed, so that it
// can be handed to another process as it is. Descriptors are a budget like memory: a hundred
// thousand icons must not cost a hundred thousand descriptors, and a picture of 28 kB must not be
// copied through a socket. Where the line runs is `Payload.heapLimit`; a small payload becomes
// shareable when somebody asks for a descriptor (`shareable()`).

internal import CLinux
import Glibc

/// Bytes that are whole and never change, on the heap or in a sealed memfd.
package final class Payload: Sendable {
  /// Bodies up to here stay on the heap. A memfd costs an inode, a descriptor and on average half
  /// a page, which is about a kilobyte and a half: from 16 KiB on that is under a tenth.
  package static let heapLimit = 16 * 1024

  package let count: Int
  let heap: [UInt8]
  fileprivate let memory: SealedMemory?

  package init(_ bytes: [UInt8]) {
    count = bytes.count
    heap = bytes.trimmed
    memory = nil
  }

  init(sealed memory: SealedMemory) {
    count = memory.count
    heap = []
    self.memory = memory
  }

  /// True when the bytes are in a memfd already.
  package var isShareable: Bool { memory != nil }

  /// The memory it holds: whole pages and the kernel's part for a memfd, else its bytes.
  package var cost: Int { memory?.cost ?? count }

  /// Lends the bytes for the time of the call.
  package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    if let memory { return try memory.withBytes(body) }
    let heap = self.heap
    return try body(heap.span)
  }

  /// The bytes in an array of their own, unless they are in one already.
  package var bytes: [UInt8] {
    guard let memory else { return heap }
    return memory.withBytes { span in
      unsafe span.withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }
  }

  /// This payload, or a copy of it in a sealed memfd when it is not in one yet.
  ///
  /// One that is to be kept for long is not made with the last descriptors.
  package func shareable(toKeep isKept: Bool = false) throws(SystemFailure) -> Payload {
    guard memory == nil else { return self }
    var writer = isKept ? try MemoryWriter.toKeep() : try MemoryWriter()
    try writer.append(heap)
    return Payload(sealed: try writer.seal())
  }

  /// A new read-only description of the memfd, with an offset of its own.
  ///
  /// Every receiver gets one: two that share a description share its offset too.
  package func openReadOnly() throws(SystemFailure) -> FileDescriptor {
    guard let memory else { return try shareable().openReadOnly() }
    return try memory.reopen()
  }
}

// MARK: From one process to the next

extension Payload {
  /// Takes over the memfd of another process; nil unless it is sealed against every change.
  package static func adopt(_ descriptor: consuming FileDescriptor) -> Payload? {
    SealedMemory(adopting: descriptor).map { Payload(sealed: $0) }
  }

  /// Which memfd holds the bytes, whoever has it open; nil for bytes on the heap.
  package var identity: FileStatus.Identity? { memory?.identity }

  /// A copy of some of the bytes of a memfd; nil when it has not that many.
  package func part(from start: Int, count: Int) -> Payload? {
    guard let memory, start >= 0, count >= 0, start <= self.count, count <= self.count - start
    else {
      return nil
    }
    return try? memory.part(from: start, count: count)
  }

  /// The descriptor of the memfd, for a call that sends it somewhere; nil for bytes on the heap.
  package var descriptor: CInt? { memory?.number }
}

// MARK: Files

extension Payload {
  /// Writes the bytes where the file's offset is; those in a memfd never leave the kernel.
  package func copy(to file: borrowing FileDescriptor) throws(SystemFailure) {
    if let memory { return try memory.copy(to: file) }
    if let failure = unsafe heap.withUnsafeBytes({ unsafe file.write(all: $0, to: "a file") }) {
      throw failure
    }
  }

  /// Reads a whole file that has just `count` bytes; nil when it has fewer or more.
  ///
  /// The caller knows that memory for `count` bytes may be taken.
  package static func read(_ file: borrowing FileDescriptor, count: Int) throws(SystemFailure)
    -> Payload?
  {
    guard count >= 0, try file.ends(at: count) else { return nil }
    // Out of descriptors the bytes go to the heap: a picture that costs a copy beats none.
    guard count > heapLimit, var writer = try? MemoryWriter.toKeep() else {
      let bytes = try file.front(count)
      return bytes.count == count ? Payload(bytes) : nil
    }
    guard try writer.append(file, limit: count) == count else { return nil }
    return Payload(sealed: try writer.seal())
  }
}

/// Collects a body as it arrives: on the heap at first, in a memfd from `Payload.heapLimit` on.
package struct PayloadWriter: ~Copyable {
  private var heap: [UInt8] = []
  private var memory: MemoryWriter?

  /// How many bytes have been appended.
  package private(set) var count = 0

  package init() {}

  /// Adds bytes to the end; they are copied.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemFailure) {
    if memory == nil, count + bytes.count > Payload.heapLimit { try moveToMemory() }
    if memory == nil {
      unsafe heap.append(contentsOf: bytes)
    } else {
      try unsafe memory?.append(bytes)
    }
    count += bytes.count
  }

  /// Forgets everything, for a transfer that starts again.
  package mutating func reset() {
    heap.removeAll()
    memory = nil
    count = 0
  }

  /// Seals what was collected; the writer is empty afterwards.
  package mutating func finish() throws(SystemFailure) -> Payload {
    defer { reset() }
    guard let memory = memory.take() else { return Payload(heap) }
    return Payload(sealed: try memory.seal())
  }

  /// Out of descriptors the bytes stay on the heap: a picture that costs a copy beats none.
  private mutating func moveToMemory() throws(SystemFailure) {
    guard var writer = try? MemoryWriter.toKeep() else { return }
    try writer.append(heap)
    memory = consume writer
    heap = []
  }
}

extension [UInt8] {
  /// The same bytes without the room that an array keeps for growing, which is up to half of it.
  fileprivate var trimmed: [UInt8] {
    guard capacity - count > count / 8 + 16 else { return self }
    var exact: [UInt8] = []
    exact.reserveCapacity(count)
    exact.append(contentsOf: self)
    return exact
  }
}
