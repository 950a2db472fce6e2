import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct ResumeLaterTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test func `a partial body is continued by the next transfer, once`() throws {
    origin.plan("/a", .broken, .whole)
    #expect(try bench.failure(origin.url("/a")).kind == .truncated)
    let serial = bench.begin(origin.url("/a"))
    guard case .received(let result) = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(result.bytes == sample(1_000))
    #expect(result.resumedFrom == 600 && result.retries == 0)
    #expect(bench.heads(of: serial).isPart(of: [1_000]))
    #expect(bench.reports(of: serial).isPart(of: ["600/1000"]))
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 0)
  }

  @Test func `a partial body that cannot be continued is fetched whole by the next transfer`()
    throws
  {
    let other = Array(sample(2_000).reversed())
    origin.plan("/416", .broken, .status(416), .body(other))
    origin.plan("/changed", .broken, .ranged(other, tag: "\"2\""))
    for path in ["/416", "/changed"] {
      #expect(try bench.failure(origin.url(path)).kind == .truncated)
      let result = try bench.fetch(origin.url(path))
      #expect(result.bytes == other && result.resumedFrom == 0, "\(path)")
      #expect(origin.ranges(path)[1] == "bytes=600-", "\(path)")
    }
  }

  @Test func `a partial body survives an abort`() throws {
    origin.plan("/a", .stalls(sample(1_000), after: 600, headers: BrokenBody.headers), .whole)
    let serial = bench.begin(origin.url("/a"))
    try bench.waitForHead(of: serial)
    bench.engine.abort(serial: serial)
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(1_000))
    #expect(result.resumedFrom == 600)
  }

  @Test func `a partial body survives an abort before the origin has answered`() throws {
    origin.plan("/a", .broken, .silence, .whole)
    _ = try bench.failure(origin.url("/a"))
    let serial = bench.begin(origin.url("/a"))
    #expect(origin.waitForRequests("/a", 2))
    bench.engine.abort(serial: serial)
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 600)
  }

  @Test func `a partial body survives the deadline`() throws {
    origin.plan("/a", .stalls(sample(1_000), after: 600, headers: BrokenBody.headers), .whole)
    let failure = try bench.failure(origin.url("/a"), deadline: .seconds(3))
    #expect(failure.kind == .timeout(.body))
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 600)
  }

  @Test func `a partial body grows over several transfers`() throws {
    origin.plan("/a", .ranged(sample(1_000), tag: BrokenBody.tag, most: 250))
    for _ in 0..<3 { _ = try bench.failure(origin.url("/a")) }
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, "bytes=250-", "bytes=500-", "bytes=750-"])
  }

  @Test func `a partial body is not used with other credentials`() throws {
    origin.plan("/a", .broken, .whole)
    let mine = [HeaderField("Authorization", "a")]
    _ = try bench.failure(origin.url("/a"), headers: mine)
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 0)
    let other = [HeaderField("Authorization", "b")]
    #expect(try bench.fetch(origin.url("/a"), headers: other).resumedFrom == 0)
    #expect(origin.ranges("/a") == [nil, nil, nil])
    #expect(try bench.fetch(origin.url("/a"), headers: mine).resumedFrom == 600)
  }

  @Test func `a partial body is not kept when it must not be stored`() throws {
    let headers = BrokenBody.headers + [("Cache-Control", "no-store")]
    origin.plan("/a", .cut(sample(1_000), after: 600, headers: headers), .whole)
    _ = try bench.failure(origin.url("/a"))
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 0)
    origin.plan("/b", .broken, .whole)
    let order = [HeaderField("Cache-Control", "no-store")]
    _ = try bench.failure(origin.url("/b"), headers: order)
    #expect(try bench.fetch(origin.url("/b"), headers: order).resumedFrom == 0)
  }

  @Test func `a partial body is neither left nor taken by a transfer that keeps nothing`() throws {
    origin.plan("/a", .broken, .broken, .whole, .whole)
    _ = try bench.outcome(of: bench.begin(origin.url("/a"), keepsPartial: false))
    _ = try bench.failure(origin.url("/a"))
    guard
      case .received(let result) = try bench.outcome(
        of: bench.begin(origin.url("/a"), keepsPartial: false))
    else { throw TransferFailure(.internal, "not received") }
    #expect(result.resumedFrom == 0)
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 600)
    #expect(origin.ranges("/a") == [nil, nil, nil, "bytes=600-"])
  }

  @Test func `a partial body is continued by the same transfer, even one that keeps nothing`()
    throws
  {
    let bench = try TransferBench(.with { $0.retries = 1 })
    origin.plan("/a", .broken, .whole)
    guard
      case .received(let result) = try bench.outcome(
        of: bench.begin(origin.url("/a"), keepsPartial: false))
    else { throw TransferFailure(.internal, "not received") }
    #expect(result.bytes == sample(1_000))
    #expect(result.resumedFrom == 600 && result.retries == 1)
  }

  @Test func `a partial body is not kept when it has grown too large`() throws {
    origin.plan("/a", .chunkedCut([sample(600), sample(600)], headers: BrokenBody.headers), .whole)
    #expect(try bench.failure(origin.url("/a"), maxBytes: 700).kind == .tooLarge)
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 0)
  }

  @Test func `partial bodies can be dropped`() throws {
    origin.plan("/a", .broken, .whole)
    _ = try bench.failure(origin.url("/a"))
    bench.engine.dropPartials()
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, nil])
  }
}
