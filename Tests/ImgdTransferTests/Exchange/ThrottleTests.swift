import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

/// A speed that transfers share.
struct ThrottleTests {
  @Test func `what comes after a pause comes at once, and the rest waits for its time`() {
    let throttle = Throttle(bytesPerSecond: 1_000)
    #expect(throttle.pay(for: 100, at: at(5_000)) == .zero)
    #expect(throttle.pay(for: 100, at: at(5_000)) == .milliseconds(100))
    #expect(throttle.pay(for: 100, at: at(5_100)) == .milliseconds(100))
    #expect(throttle.pay(for: 50, at: at(60_000)) == .zero)
  }

  @Test func `a limit changes for transfers under way, and can be lifted`() {
    let throttle = Throttle(bytesPerSecond: 1_000)
    #expect(throttle.pay(for: 1_100, at: at(5_000)) == .seconds(1))
    throttle.limit(to: 2_000)
    #expect(throttle.pay(for: 1_000, at: at(6_000)) == .milliseconds(500))
    throttle.limit(to: nil)
    #expect(throttle.pay(for: 1 << 30, at: at(6_000)) == .zero)
  }

  /// The time for bytes at a speed, without those that come at once.
  private func least(_ bytes: Int, at speed: Int) -> Duration { .seconds(1) * (bytes - speed / 10) / speed }

  @Test func `transfers together are no faster, and a pause is no silence of the origin`() throws {
    let origin = try OriginServer()
    let body = sample(10_000)
    for path in ["/a", "/b", "/c"] { origin.plan(path, .body(body)) }
    // The last one pauses for almost three seconds.
    let bench = try TransferBench(.with { $0.idleTimeout = .seconds(1) }, throttle: Throttle(bytesPerSecond: 10_000))
    let start = Instant.current
    let serials = ["/a", "/b", "/c"].map { bench.begin(origin.url($0)) }
    for serial in serials {
      guard case .received(let result) = try bench.outcome(of: serial) else { throw TestFailure("not received") }
      #expect(result.bytes == body)
    }
    #expect(Instant.current - start >= least(30_000, at: 10_000))
  }

  @Test func `a body that is too large is refused, however slowly it comes`() throws {
    let origin = try OriginServer()
    origin.plan("/a", .untilClosed(sample(100_000)))
    let bench = try TransferBench(throttle: Throttle(bytesPerSecond: 200_000))
    #expect(try bench.failure(origin.url("/a"), maxBytes: 50_000).kind == .tooLarge)
  }

  @Test func `a transfer that waits can be aborted, and others go on`() throws {
    let origin = try OriginServer()
    origin.plan("/a", .body(sample(1 << 20)))
    origin.plan("/b", .body(sample(9)))
    let throttle = Throttle(bytesPerSecond: 1_024)
    let bench = try TransferBench(throttle: throttle)
    let serial = bench.begin(origin.url("/a"))
    try bench.waitForHead(of: serial)
    bench.engine.abort(serial: serial)
    throttle.limit(to: nil)
    #expect(try bench.fetch(origin.url("/b")).bytes == sample(9))
  }
}

/// The same over connections that transfers share.
@Suite(.nginxRunning)
struct SharedConnectionThrottleTests {
  @Test(arguments: [NginxOrigin.Site.good, .serial])
  func `bodies come whole and slowly`(site: NginxOrigin.Site) throws {
    let nginx = try NginxOrigin.current()
    let bench = try TransferBench(
      .with { $0.caFile = nginx.certificates.authority }, throttle: Throttle(bytesPerSecond: 1_000_000))
    let start = Instant.current
    let serials = (0..<8).map { _ in bench.begin(nginx.url(site, "/a.png")) }
    for serial in serials {
      guard case .received(let result) = try bench.outcome(of: serial) else { throw TestFailure("not received") }
      #expect(result.bytes == sample(100_000))
    }
    #expect(Instant.current - start >= .milliseconds(700))
  }
}
