internal import CLinux
import Glibc

/// A memfd of a known size whose bytes are written in place, and which is then sealed.
@safe package struct MappedMemory: ~Copyable {
  private let descriptor: FileDescriptor
  private let mapping: Mapping

  /// Memory full of zeros; `count` must be positive.
  package init(count: Int) throws(SystemFailure) {
    precondition(count > 0, "memory of no bytes cannot be mapped")
    let number = unsafe linux_memfd("imgd")
    guard number >= 0 else { throw SystemFailure("memfd_create") }
    let descriptor = FileDescriptor(owning: number)
    guard ftruncate(number, count) == 0 else { throw SystemFailure("ftruncate", "a memfd") }
    let mapping = try Mapping(of: number, count: count)
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
