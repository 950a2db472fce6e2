import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

struct NewestPicturesTests {
  private static func entries(_ numbers: some Sequence<Int>) -> String {
    let list = numbers.map {
      #"{"url":"http://a/\#($0)","stored":"2026-01-01T00:00:\#($0 < 10 ? "0" : "")\#($0 % 60)Z"}"#
    }
    return "\"entries\":[\(list.joined(separator: ","))]"
  }

  /// A disk tier whose entries are numbered from 1.
  private static func disk(of count: Int) -> (JSONValue) -> StagedDaemon.Answer {
    { request in
      let start = Int(request["cursor"]?.string ?? "0") ?? 0
      let limit = Int(request["limit"]?.integer ?? 100)
      let end = min(start + limit, count)
      let cursor = end < count ? "\"\(end)\"" : "null"
      return .init(entries(Array(start..<max(start, end)).map { $0 + 1 }) + ",\"cursor\":\(cursor)")
    }
  }

  private func urls(_ exchange: StagedExchange) -> [String] {
    exchange.json["entries"]?.array?.compactMap { $0["url"]?.string } ?? []
  }

  @Test func `the newest pictures come first`() throws {
    let exchange = try PageStage(Self.disk(of: 500)).ask("/entries")
    let shown = urls(exchange)
    #expect(shown.first == "http://a/500" && (30...60).contains(shown.count))
    #expect(shown.count > 1 && shown[1] == "http://a/499")
  }

  @Test func `however many ask, the daemon is asked every two seconds`() throws {
    let stage = try PageStage(Self.disk(of: 5))
    let both = [StagedExchange("/entries"), StagedExchange("/entries")]
    for exchange in both { _ = stage.handler.answer(exchange) }
    stage.loop.settle()
    #expect(both.allSatisfy { urls($0).count == 5 } && stage.daemon.requests.count == 1)
    #expect(both.map { $0.json["old"] } == [false, true])
    stage.advance(by: .milliseconds(1_900))
    let old = stage.ask("/entries")
    #expect(urls(old).count == 5 && old.json["old"] == true && stage.daemon.requests.count == 1)
    stage.advance(by: .milliseconds(200))
    let new = stage.ask("/entries")
    #expect(urls(new).count == 5 && new.json["old"] == false && stage.daemon.requests.count == 2)
  }

  @Test func `a purge is seen at once`() throws {
    let stage = try PageStage(Self.disk(of: 5))
    _ = stage.ask("/entries")
    stage.take(
      StagedExchange(
        "/purge?url=http://a/1", .post,
        [("Host", "localhost"), ("Authorization", "Bearer \(PageStage.token)")]))
    _ = stage.ask("/entries")
    #expect(stage.daemon.requests.count == 3)
  }

  @Test func `without a disk tier memory is looked at`() throws {
    let stage = try PageStage { request in
      request["tier"] == "disk"
        ? .init(#""entries":[],"cursor":null"#)
        : .init(Self.entries([3, 9, 5]) + #","cursor":null"#)
    }
    #expect(urls(stage.ask("/entries")) == ["http://a/9", "http://a/5", "http://a/3"])
  }

  @Test func `a refusal reaches all who wait, and the next is asked anew`() throws {
    var isReady = false
    let stage = try PageStage { request in
      isReady ? Self.disk(of: 2)(request) : .refusal("shutting_down")
    }
    #expect(stage.ask("/entries").status == 503)
    isReady = true
    #expect(urls(stage.ask("/entries")).count == 2)
  }
}
