import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

final class PayloadFileTests {
  private let root: String

  init() throws { root = try ImgdTestSupport.TemporaryDirectory.make() }

  deinit { ImgdTestSupport.TemporaryDirectory.remove(root) }

  private func file() -> FileDescriptor {
    FileDescriptor(owning: open(root + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
  }

  @Test(arguments: [0, 1, Payload.heapLimit, Payload.heapLimit + 1, 3 << 20])
  func `a payload is written to a file and read back`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    for payload in [Payload(bytes), try Payload(bytes).shareable()] {
      let file = file()
      try payload.copy(to: file)
      let back = try #require(try Payload.read(file, count: count))
      #expect(back.count == count)
      #expect(back.isShareable == (count > Payload.heapLimit))
      #expect(back.withBytes { $0.withUnsafeBufferPointer { Array($0) } } == bytes)
      #expect(try Payload.read(file, count: count + 1) == nil)
      #expect(try Payload.read(file, count: count - 1) == nil)
    }
  }

  @Test func `a file that cannot be written is a failure`() throws {
    let payload = Payload([UInt8](repeating: 1, count: 20_000))
    let full = FileDescriptor(owning: open("/dev/full", O_WRONLY | O_CLOEXEC))
    let failure = #expect(throws: SystemFailure.self) { try payload.copy(to: full) }
    #expect(failure?.errno == ENOSPC)
    let readOnly = FileDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
    for payload in [payload, try payload.shareable()] {
      let failure = #expect(throws: SystemFailure.self) { try payload.copy(to: readOnly) }
      #expect(failure?.errno == EBADF)
    }
    let writeOnly = FileDescriptor(owning: open("/dev/null", O_WRONLY | O_CLOEXEC))
    #expect(throws: SystemFailure.self) { _ = try Payload.read(writeOnly, count: 5) }
  }

  @Test func `a payload is read to the heap when there are no descriptors`() async {
    await #expect(processExitsWith: .success) {
      let bytes = [UInt8](repeating: 7, count: 50_000)
      let root = try ImgdTestSupport.TemporaryDirectory.make()
      defer { ImgdTestSupport.TemporaryDirectory.remove(root) }
      let file = FileDescriptor(owning: open(root + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
      try Payload(bytes).copy(to: file)
      limitDescriptors(to: 3)
      let payload = try #require(try Payload.read(file, count: 50_000))
      try #require(!payload.isShareable)
      try #require(payload.withBytes { $0.withUnsafeBufferPointer { Array($0) } } == bytes)
      limitDescriptors(to: 256)
    }
  }
}
