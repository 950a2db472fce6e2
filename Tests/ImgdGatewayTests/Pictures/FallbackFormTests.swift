import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

/// Fallback pictures in the forms of requests that have failed.
struct FallbackFormTests {
  private static let failure = #""ok":false,"error":{"code":"dns","message":"no such name"}"#
  private let directory = TemporaryDirectory()
  private let stage: PictureStage

  init() throws {
    let file = directory.path + "/a.png"
    try write(TestPicture.png(bytes: 600), to: file)
    stage = try PictureStage(fallbacks: FallbackPictures([FallbackFile(file)]))
  }

  private var handed: [PlannedDaemon.Request] {
    stage.daemon.requests("fetch").filter { $0.line["url"] == "fd:" }
  }

  private func fail(width: Int = 10) -> PlannedExchange {
    let exchange = PlannedExchange()
    stage.begin(exchange) { $0.width = width }
    return exchange
  }

  /// Has the daemon fail with every URL; it gives what it is handed, if it `makes` that at once.
  private func plan(makes: Bool) {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] request in
      guard request.line["url"] == "fd:" else { return daemon.answer(request, Self.failure) }
      if makes { daemon.give(request) }
    }
  }

  @Test func `those that fail at once wait for one form`() {
    plan(makes: false)
    let exchanges = (0..<5).map { _ in fail() }
    #expect(handed.count == 1 && exchanges.allSatisfy { $0.answers.isEmpty })
    exchanges[0].leave()
    stage.daemon.give(handed[0])
    stage.loop.settle()
    #expect(exchanges[0].answers.isEmpty)
    for exchange in exchanges.dropFirst() {
      #expect(exchange.status == 502 && exchange["Content-Type"] == "image/png")
      #expect(exchange["Cache-Control"] == "public, max-age=60" && exchange["Age"] == "0")
    }
    #expect(fail().status == 502 && handed.count == 1)
  }

  @Test func `the oldest form makes room for another, and none that is being made`() {
    plan(makes: true)
    for width in 1...FallbackForms.most + 1 { #expect(fail(width: width)["ETag"] != nil) }
    #expect(handed.count == FallbackForms.most + 1)
    _ = fail(width: FallbackForms.most)
    #expect(handed.count == FallbackForms.most + 1)
    plan(makes: false)
    let waiting = (100..<100 + FallbackForms.most).map { fail(width: $0) }
    let further = fail(width: 99)
    #expect(further.status == 502 && further["Content-Type"] == "application/json")
    #expect(waiting.allSatisfy { $0.answers.isEmpty })
  }

  @Test func `if it cannot be made, the first failure is told, and it is tried again`() {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] request in
      let isHanded = request.line["url"] == "fd:"
      daemon.answer(request, isHanded ? Self.failure.replacing("dns", with: "decode_failed") : Self.failure)
    }
    for round in 1...2 {
      let answer = fail()
      #expect(answer.status == 502 && answer.text?.contains(#""code":"dns""#) == true)
      #expect(handed.count == round)
    }
  }

  @Test(
    arguments: [
      ("bad_url", false), ("blocked_scheme", false), ("line_too_long", false), ("bad_request", false),
      ("dns", true), ("not_an_image", true), ("decode_crashed", true), ("timeout", true), ("offline", true),
      ("blocked_address", true),
    ])
  func `a picture stands in for failures, not for wrong targets`(code: String, isShown: Bool) {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] request in
      guard request.line["url"] != "fd:" else { return daemon.give(request) }
      daemon.answer(request, Self.failure.replacing("dns", with: code))
    }
    #expect(fail()["Content-Type"] == (isShown ? "image/png" : "application/json"))
  }
}
