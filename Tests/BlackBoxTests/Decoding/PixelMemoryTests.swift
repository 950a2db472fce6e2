import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The memory in which pixels come: that of all who ask for them, and nobody's to change.
struct PixelMemoryTests {
  private let stage: Stage
  private let pixels = TestPixels.gradient(width: 120, height: 80)

  init() throws {
    stage = try Stage()
    stage.offer(TestPicture.png(pixels), at: "/a")
  }

  private func descriptor(for client: TestClient) throws -> CInt {
    let line = try stage.ask("/a", #""deliver":"pixels""#, on: client)
    return try #require(client.takeDescriptor(), "no descriptor with \(line.text)")
  }

  @Test func `nobody can change them`() throws {
    let number = try descriptor(for: stage.client)
    defer { close(number) }
    // F_GET_SEALS; seal, shrink, grow, write.
    #expect(fcntl(number, 1_034) & 15 == 15)
    #expect(fcntl(number, F_GETFL) & O_ACCMODE == O_RDONLY)
    #expect(write(number, "x", 1) < 0)
    #expect(ftruncate(number, 0) < 0)
    let writable = mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0)
    #expect(writable == MAP_FAILED)
    let again = open("/proc/self/fd/\(number)", O_RDWR)
    if again >= 0 {
      #expect(write(again, "x", 1) < 0)
      close(again)
    }
    #expect(contents(of: number) == pixels.bytes)
  }

  @Test func `two clients get the same memory, and read it from the start`() throws {
    let clients = [stage.client, try stage.connect()]
    let numbers = try clients.map { try descriptor(for: $0) }
    defer { for number in numbers { close(number) } }
    let places = numbers.map { number in
      var status = stat()
      fstat(number, &status)
      return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }
    #expect(places[0] == places[1])
    for number in numbers { #expect(contents(of: number) == pixels.bytes) }
    #expect(try stage.stats("decode", "completed") == 1)
  }

  @Test func `they outlive the daemon`() throws {
    let number = try descriptor(for: stage.client)
    defer { close(number) }
    stage.daemon.kill()
    #expect(contents(of: number) == pixels.bytes)
  }
}
