import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct OutboxTests {
  private func line(_ number: Int, _ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
  }

  /// A descriptor whose file size identifies it at the other end.
  private func file(_ size: Int) -> FileDescriptor {
    let number = open("/tmp", O_RDWR | 0o20_200_000, 0o600)  // O_TMPFILE
    ftruncate(number, off_t(size))
    return FileDescriptor(owning: number)
  }

  /// The size of a received descriptor, which is closed.
  private func size(_ number: CInt) -> Int {
    defer { close(number) }
    return Int(lseek(number, 0, SEEK_END))
  }

  @Test func `an outbox sends its bytes`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    #expect(outbox.send(to: pair.near) == .emptied)
    outbox.bytes += Array("one ".utf8)
    outbox.bytes += Array("two".utf8)
    #expect(outbox.unsent == 7)
    #expect(outbox.send(to: pair.near) == .emptied)
    #expect(outbox.unsent == 0)
    outbox.bytes += Array(" three".utf8)
    #expect(outbox.send(to: pair.near) == .emptied)
    #expect(pair.drain() == Array("one two three".utf8))
  }

  @Test func `an outbox continues when the peer reads again`() throws {
    let pair = try SocketPair(sendBuffer: 1)
    let whole = line(1, 300_000)
    var outbox = Outbox()
    outbox.bytes += whole
    var received: [UInt8] = []
    while outbox.send(to: pair.near) == .blocked { received += pair.drain(3_000) }
    while case let more = pair.drain(), !more.isEmpty { received += more }
    #expect(received == whole)
  }

  @Test func `an outbox notices that the peer is gone`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    outbox.bytes += [1]
    outbox.attach(file(1))
    outbox.bytes += [2]
    pair.closeFar()
    #expect(outbox.send(to: pair.near) == .broken)
    #expect(outbox.descriptors == 1, "it is closed with the outbox")
  }

  /// Lines with and without a descriptor, in every pattern of five.
  @Test(arguments: 0..<32)
  func `every descriptor arrives with the first byte of its line`(pattern: Int) throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    var expected: [Int: Int] = [:]
    for number in 0..<5 {
      if pattern & 1 << number != 0 {
        expected[outbox.bytes.count] = 100 + number
        outbox.attach(file(100 + number))
      }
      outbox.bytes += line(number, 3)
    }
    let whole = outbox.bytes
    #expect(outbox.send(to: pair.near) == .emptied)
    #expect(outbox.descriptors == 0)
    var (received, sizes): ([UInt8], [Int: Int]) = ([], [:])
    while case let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 1),
      !bytes.isEmpty
    {
      #expect(numbers.count <= 1)
      for number in numbers { sizes[received.count] = size(number) }
      received += bytes
    }
    #expect(received == whole)
    #expect(sizes == expected)
  }

  @Test func `each descriptor has its own send`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    for number in 1...3 {
      outbox.attach(file(number))
      outbox.bytes += line(number, 10)
    }
    #expect(outbox.send(to: pair.near) == .emptied)
    for expected in 1...3 {
      let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 1_000)
      #expect(bytes == line(expected, 10))
      #expect(numbers.map(size) == [expected])
    }
  }

  @Test func `a message can end with the line that a descriptor is for`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    let shared = SharedDescriptor(file(7))
    outbox.bytes += line(1, 10)
    for number in 2...3 {
      outbox.attach(shared, toNext: 10)
      outbox.bytes += line(number, 10)
    }
    outbox.bytes += line(4, 10)
    #expect(outbox.send(to: pair.near) == .emptied)
    // A read ends with the message that brought descriptors.
    for (expected, sizes) in [(line(1, 10) + line(2, 10), [7]), (line(3, 10), [7]), (line(4, 10), [])] {
      let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 1_000)
      #expect(bytes == expected)
      #expect(numbers.map(size) == sizes)
    }
    #expect(lseek(shared.descriptor.number, 0, SEEK_END) == 7, "it stays its owner's")
  }

  @Test func `descriptors keep their places through short writes`() throws {
    let pair = try SocketPair(sendBuffer: 1)
    var outbox = Outbox()
    var (whole, expected): ([UInt8], [Int]) = ([], [])
    for number in 1...60 {
      if number % 3 != 0 {
        expected.append(number)
        outbox.attach(file(number))
      }
      outbox.bytes += line(number, number * 211 % 5_000)
      whole += line(number, number * 211 % 5_000)
    }
    var (received, sizes): ([UInt8], [Int]) = ([], [])
    var blocked = 0
    while received.count < whole.count {
      if outbox.send(to: pair.near) == .blocked { blocked += 1 }
      let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 1_500)
      received += bytes
      sizes += numbers.map(size)
    }
    #expect(received == whole)
    #expect(sizes == expected)
    #expect(blocked > 10, "the writes were short")
  }

  /// A reader that leaves the last few bytes each time.
  @Test func `an outbox does not grow when the reader always leaves a rest`() throws {
    let pair = try SocketPair(sendBuffer: 1)
    var outbox = Outbox()
    var (sent, received, number) = (0, 0, 0)
    var (highest, isSame) = (0, true)
    func stream(_ position: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: position &* 7 &+ position >> 8)
    }
    while sent < 600_000 {
      while outbox.unsent < 20_000 {
        number += 1
        if number % 5 == 0 { outbox.attach(file(number)) }
        outbox.bytes += (sent..<sent + 4_000).map(stream)
        sent += 4_000
      }
      #expect(outbox.send(to: pair.near) == .blocked)
      highest = max(highest, outbox.bytes.count)
      let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 1 << 16)
      // The line with descriptor N begins at byte (N - 1) * 4000; a read ends with the line's part.
      for size in numbers.map(size) { isSame = isSame && size % 5 == 0 }
      for (index, byte) in bytes.enumerated() {
        isSame = isSame && byte == stream(received + index)
      }
      received += bytes.count
    }
    #expect(isSame)
    #expect(highest < 64 * 1024 * 2 + 40_000)
  }

  @Test func `a descriptor waits for the byte that it is attached to`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    outbox.bytes += [1, 2, 3]
    outbox.attach(file(9))
    #expect(outbox.send(to: pair.near) == .emptied)
    #expect(pair.drain() == [1, 2, 3])
    #expect(outbox.descriptors == 1)
    outbox.bytes += [4]
    #expect(outbox.send(to: pair.near) == .emptied)
    let (bytes, numbers) = receiveWithDescriptors(from: pair.far, limit: 10)
    #expect(bytes == [4])
    #expect(numbers.map(size) == [9])
  }

  @Test func `two descriptors on one byte are a mistake`() async {
    await #expect(processExitsWith: .failure) {
      var outbox = Outbox()
      outbox.attach(FileDescriptor(owning: open("/dev/zero", O_RDONLY)))
      outbox.attach(FileDescriptor(owning: open("/dev/zero", O_RDONLY)))
    }
  }

  @Test func `an outbox frees a large buffer when it is empty`() throws {
    let pair = try SocketPair()
    var outbox = Outbox()
    outbox.bytes += line(1, 150_000)
    while outbox.send(to: pair.near) == .blocked { _ = pair.drain() }
    #expect(outbox.bytes.capacity == 0)
    outbox.bytes += line(1, 1_000)
    #expect(outbox.send(to: pair.near) == .emptied)
    #expect(outbox.bytes.capacity >= 1_000)
  }

  @Test func `an outbox closes descriptors that are never sent`() async {
    await #expect(processExitsWith: .success) {
      do {
        var outbox = Outbox()
        for _ in 0..<10 {
          outbox.attach(FileDescriptor(owning: open("/dev/zero", O_RDONLY)))
          outbox.bytes += [0]
        }
        try #require(openDescriptors(of: "/dev/zero") == 10)
      }
      try #require(openDescriptors(of: "/dev/zero") == 0)
    }
  }
}
