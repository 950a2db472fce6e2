import ImgdSystem
import ImgdWire

@testable import ImgdGateway

/// The page's handler with a daemon of a script, on a loop whose clock the test sets.
final class PageStage {
  static let token = "a-token-of-many-letters"

  let clock = LoopClock.manual()
  let loop: EventLoop
  let daemon: StagedDaemon
  let handler: PageHandler

  init(
    access: GatewayConfiguration.PageAccess = .local, hasToken: Bool = true,
    _ script: @escaping (JSONValue) -> StagedDaemon.Answer = PageStage.plain
  ) throws {
    loop = try EventLoop(clock: clock)
    daemon = try StagedDaemon(on: loop, script)
    let token = hasToken ? try PurgeToken(Array(Self.token.utf8)) : nil
    handler = PageHandler(
      link: daemon.link, on: loop, access: access, token: token, counters: { GatewayCounters() })
  }

  /// Counters and no fetches, no entries and nothing else.
  static func plain(_ request: JSONValue) -> StagedDaemon.Answer {
    switch request["cmd"]?.string {
    case "stats": .init(statistics)
    case "list": .init(#""jobs":[]"#)
    case "entries": .init(#""entries":[],"cursor":null"#)
    default: .init("")
    }
  }

  static let statistics = """
    "memory":{"hits":7,"misses":3},"disk":{"hits":1,"misses":2},"downloads":{"bytes_received":500},\
    "process":{"pid":9,"version":"1"}
    """

  /// Hands a request to the handler, and lets everything happen that comes of it.
  @discardableResult
  func take(_ exchange: StagedExchange) -> Bool {
    let isTaken = handler.answer(exchange)
    loop.settle()
    return isTaken
  }

  /// The answer to a request of this machine.
  func ask(_ target: String, _ method: HTTPMethod = .get) -> StagedExchange {
    let exchange = StagedExchange(target, method)
    take(exchange)
    return exchange
  }

  func advance(by step: Duration) {
    clock.advance(by: step)
    loop.settle()
  }
}
