internal import CLinux
import Glibc

/// A memfd whose content can no longer change, mapped when its bytes are wanted.
final class SealedMemory: Sendable {
  /// What the kernel keeps for a memfd besides its pages: inode, dentry, file (measured).
  private static let kernelShare = 1_024
  private static let page = 4_096

  let count: Int
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor, count: Int) {
    self.count = count
    self.descriptor = descriptor
  }

  /// Takes a memfd that somebody else has made; nil unless it can never change.
  convenience init?(adopting descriptor: consuming FileDescriptor) {
    guard linux_is_sealed(descriptor.number) == 1,
      let count = try? descriptor.status("a memfd").size
    else { return nil }
    self.init(descriptor, count: count)
  }

  var number: CInt { descriptor.number }

  var identity: FileStatus.Identity? { try? descriptor.status("a memfd").identity }

  var cost: Int { (count + Self.page - 1) / Self.page * Self.page + Self.kernelShare }

  func reopen() throws(SystemFailure) -> FileDescriptor {
    let number = linux_reopen_read_only(descriptor.number)
    guard number >= 0 else { throw SystemFailure("open", "a sealed memfd") }
    return FileDescriptor(owning: number)
  }

  /// A copy of some of the bytes, which are there.
  func part(from start: Int, count: Int) throws(SystemFailure) -> Payload {
    guard count > Payload.heapLimit, var writer = try? MemoryWriter.toKeep() else {
      return Payload(try descriptor.front(count, from: start))
    }
    try writer.append(descriptor, at: start, count: count)
    return Payload(sealed: try writer.seal())
  }

  /// Writes all of it where the file's offset is.
  func copy(to file: borrowing FileDescriptor) throws(SystemFailure) {
    let copied = try file.append(from: descriptor, count: count)
    precondition(copied == count, "a sealed memfd gives the bytes it holds")
  }

  func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    guard count > 0 else { return try body([UInt8]().span) }
    // A mapping of a sealed file cannot fault: nobody can shrink it.
    guard
      let start = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, descriptor.number, 0),
      unsafe start != MAP_FAILED
    else { return try withCopy(body) }
    defer { unsafe munmap(start, count) }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    return try unsafe body(bytes.bindMemory(to: UInt8.self).span)
  }

  /// Out of address space or mappings: read instead.
  private func withCopy<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = unsafe bytes.withUnsafeMutableBytes { room in
        unsafe pread(
          descriptor.number, room.baseAddress.map { unsafe $0 + filled }, count - filled,
          off_t(filled))
      }
      precondition(got > 0, "a sealed memfd gives the bytes it holds")
      filled += got
    }
    return try body(bytes.span)
  }
}

/// A memfd on its way to being sealed.
struct MemoryWriter: ~Copyable {
  private let descriptor: FileDescriptor
  private var count = 0

  init() throws(SystemFailure) {
    let number = unsafe linux_memfd("imgd")
    guard number >= 0 else { throw SystemFailure("memfd_create") }
    descriptor = FileDescriptor(owning: number)
  }

  /// One for what is kept for long, which must not take the last descriptors.
  static func toKeep() throws(SystemFailure) -> MemoryWriter {
    let writer = try MemoryWriter()
    guard !OpenFiles.isReserve(writer.descriptor.number) else {
      throw SystemFailure("memfd_create", errno: EMFILE)
    }
    return writer
  }

  mutating func append(_ bytes: [UInt8]) throws(SystemFailure) {
    let failure = unsafe bytes.withUnsafeBytes { unsafe descriptor.write(all: $0, to: "a memfd") }
    if let failure { throw failure }
    count += bytes.count
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemFailure) {
    if let failure = unsafe descriptor.write(all: bytes, to: "a memfd") { throw failure }
    count += bytes.count
  }

  mutating func append(_ payload: Payload) throws(SystemFailure) {
    try payload.copy(to: descriptor)
    count += payload.count
  }

  /// Adds the first `limit` bytes of a file, or all there are.
  mutating func append(_ file: borrowing FileDescriptor, limit: Int) throws(SystemFailure) -> Int {
    let copied = try descriptor.append(from: file, count: limit)
    count += copied
    return copied
  }

  /// Adds bytes that a file has, from a place on.
  mutating func append(
    _ file: borrowing FileDescriptor, at start: Int, count: Int
  ) throws(SystemFailure) {
    self.count += try descriptor.append(from: file, at: start, count: count)
  }

  consuming func seal() throws(SystemFailure) -> SealedMemory {
    guard linux_seal(descriptor.number) == 0 else { throw SystemFailure("seal", "a memfd") }
    let count = self.count
    return SealedMemory(descriptor, count: count)
  }
}
