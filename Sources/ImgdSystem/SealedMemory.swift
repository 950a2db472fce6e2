internal import CLinux
import Glibc

/// A memfd whose content can no longer change; mapped while its bytes are read.
final class SealedMemory: Sendable {
  /// The kernel's memory for a memfd besides its pages: inode, dentry, file (measured).
  private static let kernelShare = 1_024
  private static let page = 4_096
  /// Freeing more than this takes about a millisecond.
  private static let large = 4 << 20

  let count: Int
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor, count: Int) {
    self.count = count
    self.descriptor = count > Self.large ? descriptor.closingSlowly() : descriptor
  }

  convenience init?(adopting descriptor: consuming FileDescriptor) {
    guard descriptor.isSealed else { return nil }
    // Not by `fstat`, which a process that has shut itself off may not call.
    let count = linux_length(descriptor.number)
    guard count >= 0 else { return nil }
    self.init(descriptor, count: count)
  }

  var number: CInt { descriptor.number }

  var identity: FileStatus.Identity? { try? descriptor.status("a memfd").identity }

  var cost: Int { (count + Self.page - 1) / Self.page * Self.page + Self.kernelShare }

  /// The same memory under the lowest descriptor that is free; nil without one.
  func renumbered() -> SealedMemory? {
    let number = linux_duplicate(descriptor.number)
    return number >= 0 ? SealedMemory(FileDescriptor(owning: number), count: count) : nil
  }

  func reopen() throws(SystemFailure) -> FileDescriptor {
    let number = linux_reopen_read_only(descriptor.number)
    guard number >= 0 else { throw SystemFailure("open", "a sealed memfd") }
    return FileDescriptor(owning: number, closesSlowly: count > Self.large)
  }

  /// A copy of some of the bytes; the caller has checked the range.
  func part(from start: Int, count: Int) throws(SystemFailure) -> Payload {
    guard count > Payload.heapLimit, var writer = try? MemoryWriter.toKeep() else {
      guard let part = try Payload.part(of: descriptor, from: start, count: count) else {
        preconditionFailure("a sealed memfd can be read to its end")
      }
      return part
    }
    try writer.append(descriptor, at: start, count: count)
    return Payload(sealed: try writer.seal())
  }

  func copy(to file: borrowing FileDescriptor) throws(SystemFailure) {
    let copied = try file.append(from: descriptor, count: count)
    precondition(copied == count, "a sealed memfd can be read to its end")
  }

  func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    guard count > 0 else { return try body([UInt8]().span) }
    // A mapping of a sealed file cannot fault, because the file cannot shrink.
    guard let start = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, descriptor.number, 0), unsafe start != MAP_FAILED
    else { return try withCopy(body) }
    defer { unsafe munmap(start, count) }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    return try unsafe body(bytes.bindMemory(to: UInt8.self).span)
  }

  /// Reads the bytes instead, when address space or mappings have run out.
  private func withCopy<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    guard let bytes = try? descriptor.front(count), bytes.count == count else {
      preconditionFailure("a sealed memfd can be read to its end")
    }
    return try body(bytes.span)
  }
}

struct MemoryWriter: ~Copyable {
  private let descriptor: FileDescriptor
  private var count = 0

  init() throws(SystemFailure) {
    descriptor = try FileDescriptor(returned: unsafe linux_memfd("imgd"), by: "memfd_create")
  }

  /// A memfd that is kept for long, and so must not take one of the last descriptors.
  static func toKeep() throws(SystemFailure) -> MemoryWriter {
    let writer = try MemoryWriter()
    guard !OpenFiles.isReserve(writer.descriptor.number) else { throw SystemFailure("memfd_create", errno: EMFILE) }
    return writer
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemFailure) {
    if let failure = unsafe descriptor.write(all: bytes, to: "a memfd") { throw failure }
    count += bytes.count
  }

  mutating func append(_ payload: Payload) throws(SystemFailure) {
    try payload.copy(to: descriptor)
    count += payload.count
  }

  /// Adds the first `limit` bytes of a file, or fewer if it is shorter.
  mutating func append(_ file: borrowing FileDescriptor, limit: Int) throws(SystemFailure) -> Int {
    let copied = try descriptor.append(from: file, count: limit)
    count += copied
    return copied
  }

  mutating func append(_ file: borrowing FileDescriptor, at start: Int, count: Int) throws(SystemFailure) {
    self.count += try descriptor.append(from: file, at: start, count: count)
  }

  consuming func seal() throws(SystemFailure) -> SealedMemory {
    guard linux_seal(descriptor.number) == 0 else { throw SystemFailure("seal", "a memfd") }
    let count = self.count
    return SealedMemory(descriptor, count: count)
  }
}

/// A memfd of a known size whose bytes are written in place, and which is then sealed.
@safe package struct MappedMemory: ~Copyable {
  private let descriptor: FileDescriptor
  private let mapping: Mapping

  /// Memory full of zeros; `count` must be positive.
  package init(count: Int) throws(SystemFailure) {
    precondition(count > 0, "memory of no bytes cannot be mapped")
    let descriptor = try FileDescriptor(returned: unsafe linux_memfd("imgd"), by: "memfd_create")
    guard ftruncate(descriptor.number, count) == 0 else { throw SystemFailure("ftruncate", "a memfd") }
    let mapping = try Mapping(of: descriptor.number, count: count)
    self.descriptor = descriptor
    self.mapping = mapping
  }

  /// The bytes; valid until the memory is sealed or dropped.
  package var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(start: mapping.start, count: mapping.count)
  }

  /// Ends the writing: the bytes cannot change any more.
  package consuming func seal() throws(SystemFailure) -> Payload {
    let descriptor = self.descriptor
    // The kernel would refuse to seal a memfd with a writable mapping.
    mapping.unmap()
    guard linux_seal(descriptor.number) == 0, let payload = Payload.adopt(descriptor) else {
      throw SystemFailure("seal", "a memfd")
    }
    return payload
  }
}

extension FileDescriptor {
  /// Whether it is a memfd that cannot change: those who map it never find its end nearer.
  package var isSealed: Bool { linux_is_sealed(number) == 1 }
}

/// A memfd in the address space.
@safe struct Mapping: ~Copyable {
  let start: UnsafeMutableRawPointer
  let count: Int

  init(of number: CInt, count: Int) throws(SystemFailure) {
    guard let start = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0), unsafe start != MAP_FAILED
    else { throw SystemFailure("mmap", "a memfd") }
    unsafe self.start = start
    self.count = count
  }

  deinit { unsafe munmap(start, count) }

  consuming func unmap() {}
}

// Public and frozen, because otherwise Embedded Swift does not find the deinit from another module.

/// Bytes of another process's memfd or file in the address space, for reading only; the mapping alone keeps them.
@safe @frozen public struct ReceivedMemory: ~Copyable, @unchecked Sendable {
  // Unchecked: the bytes are only read, and the pointer is private.
  private let start: UnsafeRawPointer?
  package let count: Int

  /// Maps the first `count` bytes, which the file must have: reading beyond its end would raise a signal.
  package init(_ descriptor: consuming FileDescriptor, count: Int) throws(SystemFailure) {
    let length = Int(linux_length(descriptor.number))
    guard length >= 0 else { throw SystemFailure("lseek", "a received descriptor") }
    guard count >= 0, count <= length else {
      throw SystemFailure("mmap", "\(count) bytes of a descriptor with \(length)", errno: EINVAL)
    }
    // An empty range cannot be mapped.
    let place = unsafe count == 0 ? nil : try Self.map(descriptor.number, count)
    self.count = count
    unsafe start = place
  }

  private static func map(_ number: CInt, _ count: Int) throws(SystemFailure) -> UnsafeRawPointer? {
    guard let place = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, number, 0), unsafe place != MAP_FAILED else {
      throw SystemFailure("mmap", "a received descriptor")
    }
    return UnsafeRawPointer(place)
  }

  deinit { if let start = unsafe start { unsafe munmap(UnsafeMutableRawPointer(mutating: start), count) } }

  /// The bytes; valid as long as this value.
  package var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: count) }
}
