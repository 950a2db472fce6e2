import ImgdSystem
import Testing

@testable import ImgdTransfer

struct PartialBodiesTests {
  private let start = Instant(nanoseconds: 0)

  private func key(_ number: Int) -> PartialKey {
    PartialKey(url: "http://a/\(number)", headers: [])
  }

  private func partial(_ count: Int, also field: String = "X: y") throws -> PartialBody {
    let head = HeadCollector.collected(200, ["ETag: \"1\"", "Accept-Ranges: bytes", field])
    let partial = try #require(PartialBody(of: head, total: nil))
    try [UInt8](repeating: 7, count: count).withUnsafeBytes { try partial.bytes.append($0) }
    return partial
  }

  @Test func `kept partial bodies are returned once, for the same key`() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(5), for: key(1), at: start)
    #expect(bodies.takeBody(of: key(2), at: start) == nil)
    let token = [HeaderField("Authorization", "a")]
    #expect(bodies.takeBody(of: PartialKey(url: "http://a/1", headers: token), at: start) == nil)
    #expect(bodies.takeBody(of: key(1), at: start)?.count == 5)
    #expect(bodies.takeBody(of: key(1), at: start) == nil)
    #expect(bodies.bytes == 0)
  }

  @Test func `the latest partial body replaces another under its key`() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(5), for: key(1), at: start)
    bodies.add(try partial(7), for: key(1), at: start)
    #expect(bodies.count == 1 && bodies.bytes == 7)
    #expect(bodies.takeBody(of: key(1), at: start)?.count == 7)
  }

  @Test func `kept partial bodies are limited in number: the oldest are removed`() throws {
    var bodies = PartialBodies()
    for number in 0...PartialBodies.most { bodies.add(try partial(1), for: key(number), at: start) }
    #expect(bodies.count == PartialBodies.most)
    #expect(bodies.takeBody(of: key(0), at: start) == nil)
    #expect(bodies.takeBody(of: key(1), at: start) != nil)
  }

  @Test func `kept partial bodies are limited in bytes`() throws {
    var bodies = PartialBodies()
    for number in 0..<4 { bodies.add(try partial(10 << 20), for: key(number), at: start) }
    #expect(bodies.count == 3 && bodies.bytes == 30 << 20)
    bodies.add(try partial(PartialBodies.mostBytes + 1), for: key(9), at: start)
    #expect(bodies.count == 3)
    bodies.add(try partial(PartialBodies.mostBytes), for: key(9), at: start)
    #expect(bodies.count == 1 && bodies.bytes == PartialBodies.mostBytes)
    bodies.removeAll()
    #expect(bodies.count == 0 && bodies.bytes == 0)
  }

  @Test func `kept partial bodies expire`() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(1), for: key(1), at: start)
    bodies.add(try partial(1), for: key(2), at: start)
    let edge = start + PartialBodies.longestWait
    #expect(bodies.takeBody(of: key(1), at: edge) != nil)
    #expect(bodies.takeBody(of: key(2), at: edge + .nanoseconds(1)) == nil)
    bodies.add(try partial(1), for: key(1), at: start)
    bodies.add(try partial(1), for: key(2), at: edge + .seconds(1))
    #expect(bodies.count == 1)
  }

  @Test func `partial bodies that must not be stored are not kept`() throws {
    var bodies = PartialBodies()
    bodies.add(try partial(1, also: "Cache-Control: no-store"), for: key(1), at: start)
    #expect(bodies.count == 0)
  }
}
