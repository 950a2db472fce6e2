import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct BodyTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test(arguments: [1, 100, 16_384, 16_385, 300_000])
  func `a fetch returns the body and the head`(count: Int) throws {
    origin.plan("/a.png", .picture(sample(count), headers: [("ETag", "\"1\"")]))
    let result = try bench.fetch(origin.url("/a.png"))
    #expect(result.bytes == sample(count))
    #expect(result.head.status == 200)
    #expect(result.head["content-type"] == "image/png")
    #expect(result.head["etag"] == "\"1\"")
    #expect(result.retries == 0)
    #expect(result.bytesReceived == count)
  }

  @Test func `an answer says how long its first byte has taken, and its body does not count`() throws {
    let (head, body) = (Gate(), Gate())
    origin.plan("/head", .held(at: head, then: .picture(sample(100))))
    origin.plan("/refused", .status(403))
    origin.plan("/body", .body(sample(100), heldAfter: 10, at: body))
    let begun = Instant.current
    let serial = bench.begin(origin.url("/head"))
    #expect(origin.waitForRequests("/head"))
    let asked = Instant.current
    // Both are through before the gate opens.
    let refused = try bench.failure(origin.url("/refused"))
    let least = Instant.current - asked
    head.open()
    guard case .received(let late) = try bench.outcome(of: serial) else { throw TestFailure("nothing was received") }
    let time = try #require(late.head.firstByteAfter)
    #expect(time >= least && time <= Instant.current - begun)
    #expect(try #require(refused.head?.firstByteAfter) <= least)
    let again = Instant.current
    let parts = bench.begin(origin.url("/body"))
    try bench.waitForHead(of: parts)
    let seen = Instant.current
    body.open()
    guard case .received(let whole) = try bench.outcome(of: parts) else { throw TestFailure("nothing was received") }
    #expect(try #require(whole.head.firstByteAfter) <= seen - again)
  }

  @Test func `a fetch joins chunks, and leaves trailers out of the head`() throws {
    origin.plan("/a", .chunked([sample(10), sample(70_000), sample(1)]))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(10) + sample(70_000) + sample(1))
    #expect(result.expected == nil)
  }

  @Test func `a fetch accepts a body that ends with its connection`() throws {
    origin.plan("/a", .untilClosed(sample(1_000)))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
  }

  @Test func `a body that comes with its head is told of by its outcome alone`() throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    origin.plan("/a", .raw(Array(head.utf8) + sample(1_000)))
    let serial = bench.begin(origin.url("/a"))
    _ = try bench.outcome(of: serial)
    #expect(bench.events(of: serial).count == 1)
  }

  @Test func `a fetch reports the head before the body, and the end`() throws {
    let gate = Gate()
    origin.plan("/a", .body(sample(1_000), heldAfter: 400, at: gate))
    let serial = bench.begin(origin.url("/a"))
    try bench.waitForHead(of: serial)
    gate.open()
    _ = try bench.outcome(of: serial)
    let events = bench.events(of: serial)
    guard case .headers(serial, expected: 1_000) = events.first,
      case .finished = events.last
    else { throw TransferFailure(.internal, "\(events)") }
  }

  @Test func `a fetch reports progress at most ten times a second`() throws {
    origin.plan("/a", .body([UInt8](repeating: 1, count: 8 << 20)))
    let clock = ContinuousClock()
    let start = clock.now
    let serial = bench.begin(origin.url("/a"), maxBytes: 16 << 20)
    _ = try bench.outcome(of: serial)
    let tenths = Int((clock.now - start) / .milliseconds(100))
    let reports = bench.events(of: serial).count - 2
    #expect(reports <= tenths + 1)
  }

  @Test func `a fetch sends the engine's headers, and the order's in their place`() throws {
    origin.plan("/echo", .echo)
    let plain = try bench.fetch(origin.url("/echo")).text.lowercased()
    #expect(plain.hasPrefix("get /echo "))
    #expect(!plain.contains("\r\ncookie:") && !plain.contains("\r\nrange:"))
    #expect(plain.contains("user-agent: imgd\r\n"))
    #expect(plain.contains("accept: image/*"))
    #expect(plain.contains("accept-encoding: identity\r\n"))
    #expect(!plain.contains("expect:"))
    let own = [HeaderField("Accept", "text/plain"), HeaderField("X-Empty", "")]
    let text = try bench.fetch(origin.url("/echo"), headers: own).text.lowercased()
    #expect(text.contains("accept: text/plain\r\n"))
    #expect(!text.contains("image/*"))
    #expect(text.contains("x-empty:"))
  }

  @Test func `a fetch never sends a field with a line end`() throws {
    origin.plan("/echo", .echo)
    let fields = [HeaderField("X-A", "1\r\nX-B: 2"), HeaderField("X-C\n", "3")]
    let text = try bench.fetch(origin.url("/echo"), headers: fields).text.lowercased()
    #expect(!text.contains("x-a") && !text.contains("x-b") && !text.contains("x-c"))
  }

  @Test func `a fetch reuses a connection`() throws {
    origin.plan("/a", .body(sample(100)))
    for _ in 0..<20 { _ = try bench.fetch(origin.url("/a")) }
    #expect(origin.connections == 1)
  }

  @Test func `a fetch is repeated when a kept connection has died`() throws {
    origin.plan("/a", .untilClosed(sample(9), headers: [("Connection", "keep-alive")]))
    for _ in 0..<5 { #expect(try bench.fetch(origin.url("/a")).bytes == sample(9)) }
  }

  /// In its own process, because other tests read the environment meanwhile.
  @Test func `a fetch ignores the environment's proxies`() async {
    await #expect(processExitsWith: .success) {
      setenv("http_proxy", "http://127.0.0.1:1", 1)
      let origin = try OriginServer()
      origin.plan("/a", .body(sample(5)))
      try #require(try TransferBench().fetch(origin.url("/a")).bytes == sample(5))
    }
  }

  @Test func `a fetch uses the proxy, whose own address is exempt from the rule`() throws {
    let proxy = try OriginServer()
    proxy.plan("http://example.invalid/a", .body(sample(7)))
    let bench = try TransferBench(
      .with { $0.addressRule = AddressRule(mode: .deny) }, proxy: proxy.url(""))
    #expect(try bench.fetch("http://example.invalid/a").bytes == sample(7))
    #expect(try bench.failure(origin.url("/a")).kind == .blockedAddress)
  }
}
