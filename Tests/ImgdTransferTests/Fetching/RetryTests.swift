import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct RetryTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench(.with { $0.retries = 2 })
  }

  @Test(arguments: [408, 429, 500, 502, 503, 504])
  func `attempts follow a transient status`(status: Int) throws {
    origin.plan("/a", .status(status), .body(sample(8)))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(8))
    #expect(result.retries == 1)
  }

  @Test(arguments: [400, 401, 403, 404, 410, 501, 505])
  func `attempts do not follow a permanent status`(status: Int) throws {
    origin.plan("/a", .status(status))
    #expect(try bench.failure(origin.url("/a")).retries == 0)
    #expect(origin.count("/a") == 1)
  }

  @Test func `attempts end at their limit`() throws {
    origin.plan("/a", .status(503))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.status == 503)
    #expect(failure.retries == 2)
    #expect(origin.count("/a") == 3)
  }

  @Test func `attempts follow a connection that breaks before the answer`() throws {
    origin.plan("/a", .reset, .closed, .body(sample(8)))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(8))
  }

  @Test func `attempts fetch a broken body from its start, once`() throws {
    origin.plan("/a", .cut(sample(1_000), after: 600), .body(sample(1_000)))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(1_000))
    #expect(result.retries == 1)
    origin.plan("/b", .cut(sample(1_000), after: 600))
    let failure = try bench.failure(origin.url("/b"))
    #expect(failure.kind == .truncated)
    #expect(origin.count("/b") == 2)
  }

  @Test func `attempts follow a short Retry-After but not a long one`() throws {
    origin.plan("/soon", .status(503, headers: [("Retry-After", "0")]), .body(sample(3)))
    #expect(try bench.fetch(origin.url("/soon")).retries == 1)
    origin.plan("/late", .status(429, headers: [("Retry-After", "2")]))
    let failure = try bench.failure(origin.url("/late"))
    #expect(failure.status == 429)
    #expect(failure.retryAfter == .seconds(2))
    #expect(failure.retries == 0)
    #expect(origin.count("/late") == 1)
  }

  @Test func `no attempt follows an abort`() throws {
    origin.plan("/a", .status(503, headers: [("Retry-After", "1")]))
    let serial = bench.begin(origin.url("/a"))
    #expect(origin.waitForRequests("/a"))
    bench.engine.abort(serial: serial)
    // The next transfer is run by the same thread after the abort.
    origin.plan("/b", .status(503))
    _ = try bench.failure(origin.url("/b"))
    #expect(bench.events(of: serial).isEmpty)
    #expect(origin.count("/a") == 1)
  }
}

struct EncodingTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test(arguments: [.gzip(sample(90_000)), .chunkedGzip(sample(90_000))] as [OriginAnswer])
  func `encodings that were not requested are decoded`(answer: OriginAnswer) throws {
    origin.plan("/a", answer)
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(90_000))
    #expect(result.expected == nil)
  }

  @Test(arguments: ["gzip", "br", "deflate", "x-unheard-of"])
  func `a wrong label of an encoding is ignored`(coding: String) throws {
    let png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + sample(5_000)
    origin.plan("/a", .labelled(png, as: coding))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == png)
    #expect(result.retries == 0)
    #expect(origin.count("/a") == 2)
  }

  @Test func `the encoding identity is none`() throws {
    origin.plan("/a", .labelled(sample(100), as: "identity"))
    #expect(try bench.fetch(origin.url("/a")).expected == 100)
    #expect(origin.count("/a") == 1)
  }

  @Test func `the limit applies to decoded bytes`() throws {
    // Without a length only the decoded bytes can be counted.
    origin.plan("/a", .chunkedGzip(sample(300_000)))
    #expect(try bench.failure(origin.url("/a"), maxBytes: 100_000).kind == .tooLarge)
  }
}
