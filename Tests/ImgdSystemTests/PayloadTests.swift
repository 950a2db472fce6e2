import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct PayloadTests {
  private static let limit = Payload.heapLimit

  private func body(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 8) }
  }

  /// The payload of `bytes` that arrive in two parts.
  private func written(_ bytes: [UInt8], cutAt cut: Int) throws -> Payload {
    var writer = PayloadWriter()
    try bytes[..<cut].withUnsafeBytes { try writer.append($0) }
    try bytes[cut...].withUnsafeBytes { try writer.append($0) }
    #expect(writer.count == bytes.count)
    return try writer.finish()
  }

  private func content(_ payload: Payload) -> [UInt8] {
    payload.withBytes { bytes in bytes.withUnsafeBufferPointer { Array($0) } }
  }

  private func content(_ file: borrowing FileDescriptor) -> [UInt8] {
    var room = [UInt8](repeating: 0, count: 200_000)
    let count = read(file.number, &room, room.count)
    return Array(room.prefix(max(count, 0)))
  }

  @Test(arguments: [0, 1, 1_000, limit - 1, limit, limit + 1, 2 * limit, 100_000])
  func `a payload stays plain bytes up to the limit`(count: Int) throws {
    let bytes = body(count)
    let payload = try written(bytes, cutAt: count / 2)
    #expect(payload.isShareable == (count > Self.limit))
    #expect(payload.count == count)
    #expect(content(payload) == bytes)
    #expect(!Payload(bytes).isShareable)
    #expect(content(Payload(bytes)) == bytes)
  }

  @Test func `a payload is the same for every division of its bytes`() throws {
    let bytes = body(Self.limit + 40)
    let cuts = Array(0...50) + Array((Self.limit - 45)...(Self.limit + 40))
    for cut in cuts {
      let payload = try written(bytes, cutAt: cut)
      #expect(payload.isShareable)
      #expect(content(payload) == bytes, "cut at \(cut)")
    }
  }

  @Test func `bodies are one after the other in a pack`() throws {
    let bodies = [0, 1, 1_000, Self.limit, Self.limit + 1, 100_000].map(body)
    #expect(try PayloadPack().seal() == nil)
    var pack = PayloadPack()
    let starts = try bodies.map { try pack.append(try written($0, cutAt: 0)) }
    let sealed = try #require(try pack.seal())
    #expect(sealed.bytes == bodies.flatMap { $0 })
    let adopted = try #require(Payload.adopt(try sealed.openReadOnly()))
    for (start, bytes) in zip(starts, bodies) {
      let part = try #require(adopted.part(from: start, count: bytes.count))
      #expect(part.bytes == bytes)
      #expect(part.isShareable == (bytes.count > Self.limit))
    }
    for (start, count) in [
      (0, sealed.count + 1), (1, sealed.count), (-1, 1), (0, -1), (.max, .max),
    ] {
      #expect(adopted.part(from: start, count: count) == nil)
    }
    #expect(Payload(bodies[2]).part(from: 0, count: 1) == nil)
  }

  @Test func `a writer can be reset`() throws {
    var writer = PayloadWriter()
    for count in [3, Self.limit * 2, 5] {
      try body(count).withUnsafeBytes { try writer.append($0) }
      writer.reset()
      #expect(writer.count == 0)
      try body(7).withUnsafeBytes { try writer.append($0) }
      let payload = try writer.finish()
      #expect(content(payload) == body(7))
      #expect(!payload.isShareable)
      #expect(writer.count == 0)
    }
    #expect(try writer.finish().count == 0)
  }

  @Test(arguments: [0, 1, 5_000, limit + 1])
  func `a payload becomes shareable when asked`(count: Int) throws {
    let bytes = body(count)
    let payload = try written(bytes, cutAt: 0)
    let shareable = try payload.shareable()
    #expect(shareable.isShareable)
    #expect(shareable.count == count)
    #expect(content(shareable) == bytes)
    #expect(try shareable.shareable().identity == shareable.identity)
    #expect(content(try payload.openReadOnly()) == bytes)
  }

  @Test func `the descriptors of a large body are closed, though nobody waits for that`() throws {
    let (identity, numbers) = try openedAndLeft()
    // Another thread closes them; their numbers may be somebody else's then.
    #expect(try becomes { !numbers.contains { isOpen($0, with: identity) } })
  }

  private func openedAndLeft() throws -> (FileStatus.Identity, [CInt]) {
    let payload = try Payload([UInt8](repeating: 1, count: 5 << 20)).shareable()
    let receiver = try payload.openReadOnly()
    return (try #require(payload.identity), [try #require(payload.descriptor), receiver.number])
  }

  private func isOpen(_ number: CInt, with identity: FileStatus.Identity) -> Bool {
    var status = stat()
    return fstat(number, &status) == 0 && FileStatus(status).identity == identity
  }

  @Test func `every receiver has its own offset`() throws {
    let bytes = body(50_000)
    let payload = try written(bytes, cutAt: 9)
    let first = try payload.openReadOnly()
    let second = try payload.openReadOnly()
    #expect(content(first) == bytes)
    #expect(content(first) == [], "at its end")
    #expect(content(second) == bytes)
    lseek(second.number, 10, SEEK_SET)
    #expect(content(second) == Array(bytes[10...]))
    #expect(content(payload) == bytes)
  }

  @Test(arguments: [1, limit + 1])
  func `a shared payload cannot be changed`(count: Int) throws {
    let bytes = body(count)
    let payload = try written(bytes, cutAt: 0).shareable()
    let file = try payload.openReadOnly()
    #expect(write(file.number, [0], 1) == -1 && errno == EBADF)
    #expect(ftruncate(file.number, 0) == -1)
    let mapped = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0)
    #expect(mapped == MAP_FAILED && errno == EACCES)
    // Opening it for writing through /proc is possible, but the seals hold: SEAL, SHRINK, GROW, WRITE.
    #expect(fcntl(file.number, 1_034) == 0b1111)
    let writable = FileDescriptor(owning: open("/proc/self/fd/\(file.number)", O_RDWR))
    #expect(write(writable.number, [0], 1) == -1 && errno == EPERM)
    #expect(ftruncate(writable.number, 0) == -1 && errno == EPERM)
    #expect(ftruncate(writable.number, 1 << 20) == -1 && errno == EPERM)
    let again = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, writable.number, 0)
    #expect(again == MAP_FAILED && errno == EPERM)
    #expect(content(payload) == bytes)
  }

  @Test func `an error of the borrower is passed on`() throws {
    struct Refusal: Error {}
    for count in [0, 10, Self.limit + 1] {
      let payload = try written(body(count), cutAt: 0)
      #expect(throws: Refusal.self) { try payload.withBytes { _ in throw Refusal() } }
      #expect(content(payload).count == count)
    }
  }

  @Test func `the cost of a payload is the memory that it takes`() throws {
    #expect(Payload(body(1_000)).cost == 1_024 + 48)
    #expect(Payload([]).cost == 512 + 48)
    let large = try written(body(Self.limit + 1), cutAt: 0)
    #expect(large.cost == 17 * 4_096 + 1_024)
  }

  /// The room grows by doubling; a payload must not keep what is not used.
  @Test func `a payload keeps no spare room`() throws {
    var writer = PayloadWriter()
    for _ in 0..<110 { try body(100).withUnsafeBytes { try writer.append($0) } }
    #expect(try writer.finish().cost == Payload(body(11_000)).cost)
    writer.expect(60_000)
    try body(600).withUnsafeBytes { try writer.append($0) }
    #expect(try writer.finish().cost == Payload(body(600)).cost)
  }

  @Test func `a body that is announced takes its place at once`() throws {
    for count in [1, 20_000, Self.limit, Self.limit + 1] {
      var writer = PayloadWriter()
      writer.expect(count)
      let bytes = body(count)
      for part in [bytes[..<(count / 2)], bytes[(count / 2)...]] {
        try part.withUnsafeBytes { try writer.append($0) }
      }
      let payload = try writer.finish()
      #expect(content(payload) == bytes)
      #expect(payload.isShareable == (count > Self.limit))
      #expect(payload.isShareable || payload.cost == Payload(bytes).cost)
    }
  }

  @Test func `a body may be longer or shorter than announced`() throws {
    for (announced, count) in [(10, 50_000), (Self.limit, 1), (Self.limit * 2, 10), (-1, 10)] {
      var writer = PayloadWriter()
      writer.expect(announced)
      try body(count).withUnsafeBytes { try writer.append($0) }
      #expect(content(try writer.finish()) == body(count))
    }
  }

  @Test func `a hundred thousand small payloads need no descriptor`() async {
    await #expect(processExitsWith: .success) {
      let before = openDescriptors(of: "/memfd:")
      var payloads: [Payload] = []
      for number in 0..<100_000 {
        var writer = PayloadWriter()
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1_024)
        try bytes.withUnsafeBytes { try writer.append($0) }
        payloads.append(try writer.finish())
      }
      try #require(openDescriptors(of: "/memfd:") == before)
      try #require(payloads[99_999].withBytes { $0[1_023] } == UInt8(truncatingIfNeeded: 99_999))
    }
  }

  @Test func `a payload closes its descriptor with the last reference`() async {
    await #expect(processExitsWith: .success) {
      let before = openDescriptors(of: "/memfd:")
      for _ in 0..<50 {
        let payload = try Payload([1, 2, 3]).shareable()
        _ = try payload.openReadOnly()
        try #require(openDescriptors(of: "/memfd:") == before + 1)
        var writer = PayloadWriter()
        try [UInt8](repeating: 1, count: Self.limit + 1).withUnsafeBytes { try writer.append($0) }
      }
      try #require(openDescriptors(of: "/memfd:") == before)
    }
  }

  @Test func `a payload stays on the heap when there are no descriptors`() async {
    await #expect(processExitsWith: .success) {
      limitDescriptors(to: 3)
      var writer = PayloadWriter()
      let piece = [UInt8](repeating: 7, count: 30_000)
      for _ in 0..<5 { try piece.withUnsafeBytes { try writer.append($0) } }
      let payload = try writer.finish()
      try #require(!payload.isShareable && payload.count == 150_000)
      try #require(payload.withBytes { $0[149_999] } == 7)
      let failure = #expect(throws: SystemFailure.self) { _ = try payload.openReadOnly() }
      try #require(failure?.errno == EMFILE)
    }
  }

  /// Descriptors became free while the body arrived: all of it moves to a memfd.
  @Test func `a payload moves to a memfd as soon as there is a descriptor`() async {
    await #expect(processExitsWith: .success) {
      limitDescriptors(to: 3)
      var writer = PayloadWriter()
      let piece = (0..<30_000).map { UInt8(truncatingIfNeeded: $0) }
      for _ in 0..<3 { try piece.withUnsafeBytes { try writer.append($0) } }
      limitDescriptors(to: 256)
      try piece.withUnsafeBytes { try writer.append($0) }
      let payload = try writer.finish()
      try #require(payload.isShareable)
      try #require(
        payload.withBytes { bytes in bytes.indices.map { bytes[$0] } }
          == piece + piece + piece + piece)
    }
  }
}
