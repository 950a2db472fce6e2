import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdGateway

struct GatewayRouterTests {
  @Test func aRequestCountsForItsAddressUntilItIsOver() throws {
    let loop = try EventLoop(clock: .manual())
    let link = DaemonLink(on: loop) { "/nonexistent" }
    let router = GatewayRouter(
      page: PageHandler(
        link: link, on: loop, access: .local, token: nil, counters: { GatewayCounters() }),
      pictures: PictureHandler(link: link, on: loop, timeout: .seconds(30)),
      access: PictureAccess(allow: ["h"], keys: .none, presets: [], onlyPresets: false),
      addresses: AddressLimits(maxUnderWay: 1, rate: 0), trusted: [.loopback], loop: loop)
    func take(from address: String) -> StagedExchange {
      let exchange = StagedExchange(
        "/fetch?url=http://h/a&format=png", .get,
        [("Host", "localhost"), ("X-Forwarded-For", address)])
      router.route(exchange)
      loop.settle()
      return exchange
    }
    let first = take(from: "192.0.2.1")
    #expect(first.status == 503)
    #expect(take(from: "192.0.2.1").status == 429)
    #expect(take(from: "192.0.2.2").status == 503)
    first.onEnd?()
    #expect(take(from: "192.0.2.1").status == 503)
  }

  @Test func `the daemon is told the share of the address that a request comes from`() throws {
    let loop = try EventLoop(clock: .manual())
    let daemon = try PlannedDaemon(on: loop)
    let link = DaemonLink(on: loop) { [path = daemon.path] in path }
    let router = GatewayRouter(
      page: PageHandler(
        link: link, on: loop, access: .all, token: nil, counters: { GatewayCounters() }),
      pictures: PictureHandler(link: link, on: loop, timeout: .seconds(30)),
      access: PictureAccess(allow: ["h"], keys: .none, presets: [], onlyPresets: false),
      addresses: AddressLimits(maxUnderWay: 9, rate: 0), trusted: [.loopback], loop: loop)
    func share(_ target: String, from address: String?) -> JSONValue? {
      let forwarded = address.map { [("X-Forwarded-For", $0)] } ?? []
      router.route(StagedExchange(target, .get, [("Host", "localhost")] + forwarded))
      loop.settle()
      return daemon.requests("fetch").last?.line["share"]
    }
    for target in ["/fetch?url=http://h/a&format=png", "/thumbnail?url=http://h/a"] {
      #expect(share(target, from: "192.0.2.1") == "192.0.2.1")
      #expect(share(target, from: "2001:db8::1") == "2001:db8:0:0::/64")
      #expect(share(target, from: "nobody") == "unknown")
      #expect(share(target, from: nil) == nil)
    }
    #expect(daemon.requests("fetch").count == 8)
  }
}
