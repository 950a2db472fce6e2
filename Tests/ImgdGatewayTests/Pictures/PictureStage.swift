import ImgdSystem
import ImgdTestSupport

@testable import ImgdGateway

/// A handler of requests for pictures, with a daemon and clocks of its own.
final class PictureStage {
  /// 2026-01-01 00:00:00.
  static let now: Int64 = 1_767_225_600

  let clock = LoopClock.manual(at: Instant(nanoseconds: 1_000_000_000))
  let loop: EventLoop
  let daemon: PlannedDaemon
  let link: DaemonLink
  let tally = PictureTally()
  let handler: PictureHandler

  init(cors: [String] = [], fallbacks: FallbackPictures = .none) throws {
    loop = try EventLoop(clock: clock)
    daemon = try PlannedDaemon(on: loop)
    link = DaemonLink(on: loop) { [path = daemon.path] in path }
    handler = PictureHandler(
      link: link, on: loop, timeout: .seconds(30), cors: CrossOrigins(cors), fallbacks: fallbacks, tally: tally,
      wallSeconds: { Self.now })
  }

  /// Hands a request to the handler, under a target of its own, and lets it come to an end.
  func begin(_ exchange: PlannedExchange, _ change: (inout PictureRequest) -> Void = { _ in }) {
    hand(exchange, change)
    loop.settle()
  }

  func hand(
    _ exchange: PlannedExchange, share: String? = nil,
    _ change: (inout PictureRequest) -> Void = { _ in }
  ) {
    var request = PictureRequest(url: "http://h/a")
    change(&request)
    exchange.target = "/\(request)"
    if !handler.answerHeld(exchange) { handler.fetch(request, for: exchange, share: share) }
  }

  /// A request that the daemon answers with a picture.
  func ask(
    _ exchange: PlannedExchange, fields: String = "", lent: String = "",
    _ change: (inout PictureRequest) -> Void = { _ in }
  ) -> PlannedExchange {
    daemon.onRequest = { [unowned daemon] request in
      switch request.command {
      case "fetch": daemon.give(request, fields: fields, lent: lent)
      case "subscribe": daemon.answer(request)
      default: break
      }
    }
    begin(exchange, change)
    return exchange
  }

  func ask(
    _ method: HTTPMethod = .get, _ sent: [(String, String)] = [], fields: String = "",
    lent: String = "", _ change: (inout PictureRequest) -> Void = { _ in }
  ) -> PlannedExchange {
    ask(PlannedExchange(method, sent), fields: fields, lent: lent, change)
  }

  func pass(_ time: Duration) {
    clock.advance(by: time)
    loop.settle()
  }
}
