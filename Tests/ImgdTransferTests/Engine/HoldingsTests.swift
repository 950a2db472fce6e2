import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct HoldingsTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  private var holdings: TransferHoldings { bench.engine.holdings }

  @Test func `the engine counts bodies under way and those that broke off`() throws {
    origin.plan("/a", .broken)
    _ = try bench.failure(origin.url("/a"))
    #expect(holdings.bodies == 0)
    #expect(holdings.partials == 600)
    // Continued from there on, and held up after a hundred bytes more.
    let headers = BrokenBody.headers + [("Content-Range", "bytes 600-999/1000")]
    let head = "HTTP/1.1 206 Partial Content\r\nContent-Length: 400\r\n"
    let fields = headers.map { "\($0): \($1)\r\n" }.joined()
    let gate = Gate()
    origin.plan(
      "/a",
      .parts([Array((head + fields + "\r\n").utf8), Array(sample(1_000)[600...])], with: gate))
    let serial = bench.begin(origin.url("/a"))
    try bench.waitForHead(of: serial)
    #expect(holdings.bodies == 600)
    #expect(holdings.partials == 0)
    gate.open()
    guard case .received(let result) = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(result.bytes == sample(1_000))
    #expect(holdings.bodies == 0)
  }

  @Test func `the engine counts partial bodies no longer when they are dropped`() throws {
    origin.plan("/a", .broken)
    _ = try bench.failure(origin.url("/a"))
    bench.engine.dropPartials()
    _ = try bench.failure(origin.url("/none"))
    #expect(holdings.partials == 0)
  }

  @Test func `an idle handle does not keep a long head`() throws {
    origin.plan("/short", .body(sample(1)))
    let long = (0..<10).map { ("X-\($0)", String(repeating: "v", count: 1_000)) }
    origin.plan("/long", .body(sample(1), headers: long))
    _ = try bench.fetch(origin.url("/long"))
    #expect(holdings.idleHandles == 0)
    _ = try bench.fetch(origin.url("/short"))
    #expect(holdings.idleHandles > 0)
    _ = try bench.fetch(origin.url("/long"))
    #expect(holdings.idleHandles == 0)
  }

  @Test func `the engine counts connections`() throws {
    origin.plan("/a", .body(sample(1)))
    _ = try bench.fetch(origin.url("/a"))
    #expect(holdings.connections == 1)
    origin.plan("/b", .untilClosed(sample(1)))
    _ = try bench.fetch(origin.url("/b"))
    #expect(holdings.connections == 0)
  }
}
