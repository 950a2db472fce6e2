import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct TransferEngineTests {
  @Test func `the engine closes the connection of an aborted transfer, without an event`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    origin.plan("/a", .stalls(sample(1_000), after: 10))
    let serial = bench.begin(origin.url("/a"))
    try bench.waitForHead(of: serial)
    bench.engine.abort(serial: serial)
    #expect(origin.waitForOpenConnections(0))
    origin.plan("/b", .body(sample(1)))
    _ = try bench.fetch(origin.url("/b"))
    #expect(bench.events(of: serial).allSatisfy { $0.outcome(of: serial) == nil })
  }

  @Test func `the engine ignores calls for unknown transfers`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    bench.engine.abort(serial: 77)
    bench.engine.adjust(serial: 77, maxBytes: 1, deadline: .seconds(1))
    origin.plan("/a", .body(sample(1)))
    #expect(try bench.fetch(origin.url("/a")).payload.count == 1)
  }

  @Test func `the engine aborts all transfers when it stops, and can be stopped twice`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench(.with { $0.retries = 9 })
    let gate = Gate()
    origin.plan("/a", .silence)
    origin.plan("/b", .held(at: gate, then: .body(sample(1))))
    origin.plan("/c", .status(503, headers: [("Retry-After", "9")]))
    for path in ["/a", "/b", "/c"] { bench.begin(origin.url(path)) }
    bench.begin("http://nowhere.invalid/")
    for path in ["/a", "/b", "/c"] { #expect(origin.waitForRequests(path)) }
    bench.engine.stop()
    bench.engine.stop()
    gate.open()
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func `the engine applies new settings to later transfers`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    origin.plan("/echo", .echo)
    bench.engine.apply(.with { $0.ownFields = OwnFields(userAgent: "other/1") })
    #expect(try bench.fetch(origin.url("/echo")).text.contains("other/1"))
  }

  @Test func `the engine runs many transfers at once`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    let counts = (1...200).map { $0 * 19 }
    for count in counts { origin.plan("/\(count)", .body(sample(count))) }
    let serials = counts.map { bench.begin(origin.url("/\($0)")) }
    for (serial, count) in zip(serials, counts) {
      guard case .received(let result) = try bench.outcome(of: serial) else {
        throw TransferFailure(.internal, "\(count) is missing")
      }
      #expect(result.bytes == sample(count))
    }
  }

  @Test func `the engine survives transfers that are aborted in every state`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench(.with { $0.retries = 3 })
    origin.plan("/ok", .body(sample(40_000)))
    origin.plan("/busy", .status(503))
    origin.plan("/away", .redirect(to: "/ok"))
    origin.plan("/cut", .cut(sample(40_000), after: 20_000))
    for round in 0..<300 {
      let path = ["/ok", "/busy", "/away", "/cut"][round % 4]
      let serial = bench.begin(origin.url(path))
      if round % 3 == 0 { origin.waitForRequests(path, 1) }
      bench.engine.abort(serial: serial)
    }
    #expect(try bench.fetch(origin.url("/ok")).payload.count == 40_000)
  }

  @Test func `the engine assembles a body from transfers that are aborted anywhere`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench(.with { $0.retries = 3 })
    let versions = (0..<3).map { version in sample(40_000).map { $0 &+ UInt8(version) } }
    var resumed = 0
    for round in 0..<150 {
      let body = versions[round / 4 % 3]
      let tag = "\"\(round / 4 % 3)\""
      origin.plan("/a", .ranged(body, tag: tag, most: 1 + round * 97 % 17_000))
      let serial = bench.begin(origin.url("/a"))
      if round % 3 == 0 { try bench.waitForHead(of: serial) }
      bench.engine.abort(serial: serial)
      guard round % 10 == 9 else { continue }
      origin.plan("/a", .ranged(body, tag: tag))
      let result = try bench.fetch(origin.url("/a"))
      #expect(result.bytes == body)
      resumed += result.resumedFrom > 0 ? 1 : 0
    }
    #expect(resumed > 0)
  }
}
