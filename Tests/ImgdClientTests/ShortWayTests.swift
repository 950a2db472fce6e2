import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdClient

/// Fetches whose tasks wait for the answer themselves.
struct ShortWayTests {
  private static let long = Duration.seconds(3_600)

  private func ask(_ way: ShortWay, _ daemon: ScriptedDaemon) -> ShortWay.Outcome {
    way.answer(FetchRequest(url: "http://x/")) { daemon.path }
  }

  private func number(_ outcome: ShortWay.Outcome) -> Int? {
    guard case .answered(let answer, let path) = outcome else { return nil }
    return (try? Answer(answer, from: path)).map { Picture($0).byteCount }
  }

  private func isUnderWay(_ outcome: ShortWay.Outcome) -> Bool {
    if case .underWay = outcome { true } else { false }
  }

  private func isUnanswered(_ outcome: ShortWay.Outcome, wasSent wanted: Bool) -> Bool {
    if case .unanswered(let wasSent) = outcome { wasSent == wanted } else { false }
  }

  @Test func `answers in time come over one connection, for one receipt each`() throws {
    let seen = Shared<[String]>([])
    let daemon = try ScriptedDaemon { connection, request in
      seen.with { $0.append(request) }
      return [.line(#"{"id":\#(id(request)),"ok":true,"bytes":\#(connection)}"#)]
    }
    let way = ShortWay(patience: Self.long)
    for _ in 0..<3 { #expect(number(ask(way, daemon)) == 1) }
    #expect(Set(seen.with { $0 }.map { $0.split(separator: "receipt").last ?? "" }).count == 3)
    way.close()
  }

  @Test func `a refusal is an answer`() throws {
    let daemon = try ScriptedDaemon { _, request in
      [.line(#"{"id":\#(id(request)),"ok":false,"error":{"code":"bad_url"}}"#)]
    }
    let way = ShortWay(patience: Self.long)
    let outcome = ask(way, daemon)
    way.close()
    guard case .answered(let answer, let path) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(throws: ImgdError.self) { try Answer(answer, from: path) }
  }

  @Test func `only one at a time goes this way`() throws {
    let way = ShortWay(patience: Self.long)
    let other = Shared(false)
    let daemon = try ScriptedDaemon { [self] _, request in
      let second = way.answer(FetchRequest(url: "http://x/")) { "/nowhere" }
      other.with { $0 = isUnanswered(second, wasSent: false) }
      return [.line(#"{"id":\#(id(request)),"ok":true,"bytes":1}"#)]
    }
    #expect(number(ask(way, daemon)) == 1)
    #expect(other.with { $0 })
    way.close()
  }

  @Test func `after one that takes longer, more and more go another way`() throws {
    let daemon = try ScriptedDaemon { _, _ in [] }
    let way = ShortWay(patience: .zero)
    for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
      #expect(isUnderWay(ask(way, daemon)))
      for _ in 0..<pause { #expect(isUnanswered(ask(way, daemon), wasSent: false)) }
    }
    way.close()
  }

  @Test func `a connection that breaks leaves it open whether the daemon has the fetch`() throws {
    let daemon = try ScriptedDaemon { _, _ in [.close] }
    let way = ShortWay(patience: Self.long)
    #expect(isUnanswered(ask(way, daemon), wasSent: true))
    way.close()
    #expect(isUnanswered(ask(way, daemon), wasSent: false))
  }

  @Test func `without a daemon nothing is sent`() throws {
    let way = ShortWay(patience: Self.long)
    #expect(isUnanswered(way.answer(FetchRequest(url: "http://x/")) { "/nowhere/s" }, wasSent: false))
  }

  @Test func `what is not answered in time is waited for elsewhere, and not sent again`() async throws {
    let seen = Shared(0)
    let isOpen = Locked(false)
    let daemon = try ScriptedDaemon { _, request in
      seen.with { $0 += 1 }
      _ = isOpen.wait { $0 ? true : nil }
      return [.line(#"{"id":\#(id(request)),"ok":true,"bytes":7}"#)]
    }
    let client = Imgd(socket: daemon.path)
    async let picture = client.fetch("http://x/")
    // Long after the time in which a hit is answered, for another client as well.
    let other = ShortWay(patience: .microseconds(300))
    #expect(isUnderWay(ask(other, daemon)))
    isOpen.broadcast { $0 = true }
    #expect(try await picture.byteCount == 7)
    await client.close()
    #expect(seen.with { $0 } == 2)
  }

  @Test func `other fetches do not go this way`() {
    let plain = FetchRequest(url: "http://x/")
    #expect(plain.mayTakeShortWay)
    let changes: [(inout FetchRequest) -> Void] = [
      { $0.progress = true }, { $0.events = true }, { $0.wait = false }, { $0.detach = true }, { $0.cache = .reload },
      { $0.cache = .noCache }, { $0.extras.slot = "a" },
    ]
    for change in changes {
      var fetch = plain
      change(&fetch)
      #expect(!fetch.mayTakeShortWay, "\(fetch)")
    }
  }
}
