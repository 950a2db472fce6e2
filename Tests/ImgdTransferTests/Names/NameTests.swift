import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// Names in transfers, with name servers that the test plans.
struct NameTests {
  let origin: OriginServer
  let names = PlannedNames()
  let bench: TransferBench
  private let loopback = NameAnswer.addresses([.v4(0x7f00_0001)])

  init() throws {
    origin = try OriginServer()
    origin.plan("/a", .body(sample(9)))
    let names = self.names
    bench = try TransferBench(lookUp: { names.lookUp($0) })
  }

  private func url(_ host: String) -> String { origin.url("/a", host: host) }

  @Test func `a name is looked up once, and its connection kept`() throws {
    names.plan("a.test", loopback)
    for _ in 0..<3 { #expect(try bench.fetch(url("a.test")).bytes == sample(9)) }
    #expect(names.asked == ["a.test"])
    #expect(origin.connections == 1)
  }

  @Test func `a name that was looked up serves other ports, and connections that are not kept`()
    throws
  {
    let other = try OriginServer()
    other.plan("/b", .untilClosed(sample(5)))
    names.plan("a.test", loopback)
    _ = try bench.fetch(url("a.test"))
    for _ in 0..<2 {
      #expect(try bench.fetch(other.url("/b", host: "A.test")).bytes == sample(5))
    }
    #expect(names.asked == ["a.test"])
    #expect(other.connections == 2)
  }

  @Test(arguments: ["127.0.0.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"])
  func `an address is not looked up`(host: String) throws {
    _ = try bench.outcome(of: bench.begin(url(host)))
    #expect(names.asked.isEmpty)
    #expect(bench.engine.holdings.lookups == 0)
  }

  @Test func `a name's addresses are tried in turn, and refused ones are not`() throws {
    let v6 = IPAddress.v6(high: 0xfe80 << 48, low: 1)
    names.plan("a.test", .addresses([v6, .v4(0xa9fe_a9fe), .v4(0x7f00_0001)]))
    #expect(try bench.fetch(url("a.test")).bytes == sample(9))
    names.plan("b.test", .addresses([v6, .v4(0xa9fe_a9fe)]))
    let failure = try bench.failure(url("b.test"))
    #expect(failure.kind == .blockedAddress)
  }

  @Test func `a name is looked up again after it was not found`() throws {
    names.plan("a.test", .unknown)
    let unknown = try bench.failure(url("a.test"))
    #expect(unknown.kind == .dns && unknown.message.contains("a.test has no address"))
    names.plan("a.test", .failed("the servers are asleep"))
    let failed = try bench.failure(url("a.test"))
    #expect(failed.kind == .dns && failed.message.contains("asleep"))
    names.plan("a.test", .shortage("no descriptor"))
    #expect(try bench.failure(url("a.test")).kind == .unavailable)
    names.plan("a.test", loopback)
    #expect(try bench.fetch(url("a.test")).bytes == sample(9))
    #expect(names.asked.count == 4)
  }

  @Test func `a name that never answers ends with the time to connect, or the whole time`() throws {
    let names = self.names
    let settings = TransferSettings.with { $0.connectTimeout = .milliseconds(100) }
    let bench = try TransferBench(settings, lookUp: { names.lookUp($0) })
    let failure = try bench.failure(url("a.test"))
    #expect(failure.kind == .timeout(.dns))
    #expect(failure.message.contains("a.test"))
    let whole = try self.bench.failure(url("b.test"), deadline: .milliseconds(100))
    #expect(whole.kind == .timeout(.dns))
    #expect(origin.connections == 0)
  }

  @Test func `a name that many transfers want is looked up once`() throws {
    let serials = (0..<50).map { bench.begin(url("a.test"), uid: UInt32($0)) }
    #expect(names.waitForLookups(1))
    bench.engine.abort(serial: serials[0])
    names.plan("a.test", loopback)
    for serial in serials.dropFirst() {
      guard case .received = try bench.outcome(of: serial) else {
        throw TransferFailure(.internal, "not received")
      }
    }
    #expect(names.asked == ["a.test"])
  }

  @Test func `names that never answer hold a bounded number of threads, and leave some to others`()
    throws
  {
    for index in 0..<500 { bench.begin(url("dead-\(index).test"), uid: 1) }
    #expect(names.waitForLookups(8))
    names.plan("live.test", loopback)
    // With the answer all that was begun before has been taken up.
    let serial = bench.begin(url("live.test"), uid: 2)
    guard case .received = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(names.mostWaiting <= 9)
    #expect(bench.engine.holdings.lookups == 8)
    names.release()
  }

  @Test func `an aborted transfer leaves the line at once`() throws {
    let serials = (0..<40).map { bench.begin(url("dead-\($0).test")) }
    #expect(names.waitForLookups(8))
    for serial in serials { bench.engine.abort(serial: serial) }
    // The next transfer is run by the same thread after the aborts.
    #expect(try bench.fetch(url("127.0.0.1")).bytes == sample(9))
    names.release()
    names.plan("live.test", loopback)
    #expect(try bench.fetch(url("live.test")).bytes == sample(9))
    #expect(names.asked.count == 9)
  }

  @Test func `the name of a proxy is looked up, and that of the origin is not`() throws {
    let names = self.names
    let proxy = "http://proxy.test:\(origin.port)"
    let bench = try TransferBench(proxy: proxy, lookUp: { names.lookUp($0) })
    names.plan("proxy.test", loopback)
    origin.plan("http://a.test/x", .body(sample(4)))
    #expect(try bench.fetch("http://a.test/x").bytes == sample(4))
    #expect(names.asked == ["proxy.test"])
  }

  @Test func `a proxy of SOCKS gets the name of the origin, which nobody else looks up`() throws {
    let names = self.names
    let proxy = try SocksProxy()
    let bench = try TransferBench(
      .with { $0.addressRule = AddressRule(mode: .deny) }, proxy: proxy.url, lookUp: { names.lookUp($0) })
    #expect(try bench.fetch(url("a.test")).bytes == sample(9))
    #expect(try bench.fetch(url("a.test")).bytes == sample(9))
    #expect(proxy.targets == ["a.test:\(origin.port)"])
    #expect(names.asked == [])
  }

  @Test func `a handle that has served one proxy serves another, and none`() throws {
    let names = self.names
    names.plan("a.test", loopback)
    let first = try SocksProxy()
    let second = try SocksProxy()
    for proxy in [first.url, second.url, nil, first.url] {
      let serial = bench.begin(url("a.test"), proxy: proxy)
      guard case .received = try bench.outcome(of: serial) else { throw TestFailure("not received") }
    }
    #expect(first.targets.count == 1)
    #expect(second.targets.count == 1)
    #expect(origin.connections == 3)
    #expect(names.asked == ["a.test"])
  }

  @Test func `the system knows names and tells of those that it does not know`() {
    guard case .addresses(let addresses) = NameAnswer.fromSystem("localhost") else {
      Issue.record("localhost has no address")
      return
    }
    #expect(addresses.contains(.v4(0x7f00_0001)) || addresses.contains(.v6(high: 0, low: 1)))
    #expect(Set(addresses).count == addresses.count)
    switch NameAnswer.fromSystem("nowhere.invalid") {
    case .unknown, .failed: break
    case .addresses, .shortage: Issue.record("nowhere.invalid has an address")
    }
  }

  @Test func `the engine stops while names do not answer`() throws {
    for index in 0..<20 { bench.begin(url("dead-\(index).test"), uid: UInt32(index)) }
    #expect(names.waitForLookups(16))
    bench.engine.stop()
    #expect(names.mostWaiting == 16)
    names.release()
  }
}
