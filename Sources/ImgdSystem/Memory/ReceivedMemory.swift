internal import CLinux
import Glibc

// Public and frozen, because otherwise Embedded Swift does not find the deinit from another module.

/// Bytes of another process's memfd or file in the address space, for reading only.
///
/// The descriptor is not kept: the mapping alone keeps the bytes.
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
