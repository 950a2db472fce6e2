import ImgdTestSupport
import Testing

/// What an answer of the gateway costs: counts that do not depend on the machine, as `HitCountSoakTests` has them.
@Suite(.serialized, .slow) struct GatewayCountSoakTests {
  private static let count = 400

  /// A part is not answered from what is held, so the daemon is asked. How often the gateway
  /// waits is left out: on a busy machine that is oftener.
  @Test(
    .enabled(if: SystemCallCount.obstacle == nil, "strace is missing"),
    arguments: [([], 3.5), (["Range: bytes=0-9999"], 7.5)] as [([String], Double)])
  func `system calls of an answer`(fields: [String], limit: Double) throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "Workers=1"])
    stage.origin.plan(
      "/a", .picture(TestPicture.png(bytes: 28_000), headers: [("Cache-Control", "max-age=600")]))
    let client = try HTTPConversation(stage.gateway.socket)
    func ask(_ times: Int) throws {
      for _ in 0..<times {
        try client.send("/fetch?url=" + stage.url("/a"), fields)
        #expect([200, 206].contains(try client.answer().status))
      }
    }
    try ask(10)
    let calls = try SystemCallCount(of: stage.gateway.pid)
    try ask(Self.count)
    let own = try #require(calls.end()["imgd-http"]).filter { !$0.key.hasPrefix("epoll_") || $0.key == "epoll_ctl" }
    #expect(own["setsockopt"] == nil, "options of TCP on a Unix socket")
    let each = Double(own.values.reduce(0, +)) / Double(Self.count)
    #expect(each <= limit, "\(each): \(own)")
  }
}
