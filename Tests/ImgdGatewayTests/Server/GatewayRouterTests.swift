import ImgdSystem
import Testing

@testable import ImgdGateway

@Suite struct GatewayRouterTests {
  @Test func aRequestCountsForItsAddressUntilItIsOver() throws {
    let loop = try EventLoop(clock: .manual())
    let link = DaemonLink(on: loop) { "/nonexistent" }
    let router = GatewayRouter(
      page: PageHandler(
        link: link, on: loop, access: .local, token: nil, counters: { GatewayCounters() }),
      pictures: PictureHandler(link: link, on: loop, timeout: .seconds(30)),
      access: PictureAccess(allow: ["h"], keys: .none, presets: [], onlyPresets: false),
      addresses: AddressLimits(maxUnderWay: 1, rate: 0), trusting: [.loopback], on: loop)
    func take(from address: String) -> StagedExchange {
      let exchange = StagedExchange(
        "/fetch?url=http://h/a&format=png", .get,
        [("Host", "localhost"), ("X-Forwarded-For", address)])
      router.take(exchange)
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
}
