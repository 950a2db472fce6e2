import ImgdConnection
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdGateway

/// Pictures that are given again while they are fresh, for ten seconds at most.
struct HeldPicturesTests {
  private let stage: PictureStage

  /// With a subscription, which the first picture that may be held brings about.
  init() throws {
    stage = try PictureStage()
    _ = stage.ask { $0.url = "http://h/first" }
    stage.pass(.seconds(2))
  }

  private var asked: Int { stage.daemon.requests("fetch").count - 1 }

  private var subscription: Int { stage.daemon.requests("subscribe").last?.connection ?? 0 }

  private func tell(_ event: String) {
    stage.daemon.send(event, over: subscription)
    stage.loop.settle()
  }

  @Test func `the first answer says where it came from, and the others that they are held`() {
    let first = stage.ask(fields: #","source":"network""#)
    #expect(first.cacheStatus == "imgd; fwd=miss; fwd-status=200; ttl=57; stored")
    #expect(stage.ask().cacheStatus == "imgd; hit; ttl=57")
    stage.pass(.seconds(2))
    #expect(stage.ask().cacheStatus == "imgd; hit; ttl=55" && asked == 1)
  }

  @Test func `a picture is given again for ten seconds`() {
    let first = stage.ask()
    let again = stage.ask()
    #expect(asked == 1 && again.answers[0] === first.answers[0])
    #expect(stage.tally.held.count == 1)
    stage.pass(HeldPictures.lifetime - .milliseconds(1))
    _ = stage.ask(.head)
    #expect(asked == 1)
    stage.pass(.milliseconds(1))
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `a picture that is given again grows older, and its lifetime no longer`() {
    let ages = [0, 999, 1, 7_000].map { milliseconds in
      stage.pass(.milliseconds(milliseconds))
      let exchange = stage.ask()
      #expect(exchange["Cache-Control"] == "public, max-age=60")
      return exchange["Age"]
    }
    #expect(ages == ["3", "3", "4", "11"] && asked == 1)
    let known = stage.ask(.get, [("If-None-Match", "*")])
    #expect(known.status == 304 && known["Age"] == "11")
  }

  @Test func `a picture is given again no longer than it is fresh`() {
    let ask = { [stage] in _ = stage.ask { $0.expires = Int(PictureStage.now) + 2 } }
    ask()
    stage.pass(.milliseconds(1_999))
    ask()
    #expect(asked == 1)
    stage.pass(.milliseconds(1))
    for _ in 0..<2 { ask() }
    #expect(asked == 2)
  }

  @Test func `a target is what it is in bytes`() {
    for url in ["http://h/\u{e9}", "http://h/e\u{301}"] { _ = stage.ask { $0.url = url } }
    #expect(asked == 2)
  }

  @Test func `conditions hold for a picture that is given again, and parts are asked for`() {
    _ = stage.ask()
    #expect(stage.ask(.get, [("If-None-Match", "\"00112233445566aa\"")]).status == 304)
    #expect(stage.ask(.get, [("If-Match", "\"x\"")]).status == 412)
    #expect(stage.ask(.head, [("Range", "bytes=0-9")]).status == 200)
    #expect(asked == 1)
    let part = stage.ask(.get, [("Range", "bytes=0-9")])
    #expect(part.status == 206 && asked == 2)
  }

  @Test func `another form, and a choice for the client, are pictures of their own`() {
    _ = stage.ask { $0.format = .webp }
    _ = stage.ask { $0.format = .png }
    let chosen = stage.ask(.get, [("Accept", "image/webp")]) { $0.format = .auto }
    #expect(asked == 3 && chosen["Vary"] == "Accept")
    let again = stage.ask(.get, [("Accept", "image/webp, */*")]) { $0.format = .auto }
    #expect(asked == 3 && again["Vary"] == "Accept")
    #expect(stage.ask { $0.format = .webp }["Vary"] == nil)
    #expect(asked == 3)
  }

  @Test func `a held picture keeps the name of its target`() {
    for name in ["a", "b", "a"] {
      let answer = stage.ask { $0.disposition.filename = name }
      #expect(answer["Content-Disposition"]?.hasPrefix("inline; filename=\"\(name).") == true)
    }
    #expect(asked == 2)
  }

  @Test(arguments: [
    ("", #","keep":false"#), (#","stale":true"#, ""),
  ])
  func `what others may not keep, and what is stale, is asked for each time`(
    fields: String, lent: String
  ) {
    for _ in 0..<2 { _ = stage.ask(fields: fields, lent: lent) }
    #expect(asked == 2)
  }

  @Test func `a picture is given again to clients of other addresses`() {
    _ = stage.ask()
    for share in ["192.0.2.1", "192.0.2.2"] {
      let exchange = PlannedExchange()
      stage.hand(exchange, share: share)
      #expect(exchange.status == 200)
    }
    #expect(asked == 1)
  }

  @Test func `a part and an answer without a picture are not held`() {
    _ = stage.ask(.get, [("Range", "bytes=0-9")])
    _ = stage.ask(.get, [("If-None-Match", "*")])
    _ = stage.ask()
    #expect(asked == 3)
  }

  @Test(arguments: [
    #"{"event":"cache","what":"purged","tier":"disk","entries":1,"seq":1}"#,
    #"{"event":"cache","what":"removed_all","tier":"memory","entries":1,"seq":1}"#,
    #"{"event":"cache","what":"marked","tier":"memory","entries":0,"seq":1}"#,
    #"{"event":"overflow","lost":3,"seq":1}"#,
    #"{"event":"config","what":"reloaded","seq":1}"#,
  ])
  func `a purge takes all at once`(event: String) {
    _ = stage.ask()
    tell(event)
    _ = stage.ask()
    #expect(asked == 2)
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `other news of the cache takes nothing`() {
    _ = stage.ask()
    tell(#"{"event":"cache","what":"stored","tier":"memory","entries":1,"seq":1}"#)
    tell(#"{"event":"cache","what":"evicted","tier":"memory","entries":0,"bytes":0,"seq":2}"#)
    _ = stage.ask()
    #expect(asked == 1)
  }

  private func ask(_ urls: [String]) { for url in urls { _ = stage.ask { $0.url = url } } }

  @Test func `where the daemon makes room, as much goes here, what was asked for first`() {
    ask(["http://h/1", "http://h/2", "http://h/3"])
    // Two pictures of a hundred bytes.
    tell(#"{"event":"cache","what":"evicted","tier":"memory","entries":1,"bytes":101,"seq":1}"#)
    ask(["http://h/3"])
    #expect(asked == 3)
    ask(["http://h/1", "http://h/2"])
    #expect(asked == 5)
  }

  @Test func `a picture that was stored anew is asked for, and others are given`() {
    // One of them may share its place with it.
    let others = (1...4).map { "http://h/\($0)" }
    ask(["http://h/a"] + others)
    tell(#"{"event":"cache","what":"stored","tier":"memory","entries":1,"url":"http://h/a","seq":1}"#)
    ask(others)
    #expect(asked <= 6)
    let count = asked
    ask(["http://h/a", "http://h/a"])
    #expect(asked == count + 1)
  }

  @Test func `a picture that was stored anew since it was asked for is not held`() {
    stage.daemon.onRequest = { _ in }
    stage.begin(PlannedExchange())
    let request = stage.daemon.requests[stage.daemon.requests.count - 1]
    tell(#"{"event":"cache","what":"stored","tier":"memory","entries":1,"url":"http://h/a","seq":1}"#)
    stage.daemon.give(request)
    stage.loop.settle()
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `a picture that was asked for before a purge is not held after it`() {
    stage.daemon.onRequest = { _ in }
    stage.begin(PlannedExchange())
    let request = stage.daemon.requests[stage.daemon.requests.count - 1]
    tell(#"{"event":"cache","what":"purged","tier":"memory","entries":1,"seq":1}"#)
    stage.daemon.give(request)
    stage.loop.settle()
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `a purge that has been told counts before the loop has read of it`() {
    _ = stage.ask()
    stage.daemon.send(
      #"{"event":"cache","what":"purged","tier":"memory","entries":1,"seq":1}"#, over: subscription)
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `a purge counts in the tick in which the loop has just read the news`() {
    _ = stage.ask()
    let (before, after) = (PlannedExchange(), PlannedExchange())
    stage.loop.atTickEnd { [stage, subscription] in
      stage.hand(before)
      stage.daemon.send(
        #"{"event":"cache","what":"purged","tier":"memory","entries":1,"seq":1}"#, over: subscription)
      stage.hand(after)
    }
    stage.loop.settle()
    #expect(before.status == 200 && after.status == 200 && asked == 2)
  }

  @Test(arguments: [(EventSubscription.mostTaken - 1, 1), (EventSubscription.mostTaken, 2)])
  func `where more is told than is read at once, nothing is held`(events: Int, fetches: Int) {
    _ = stage.ask()
    let event = #"{"event":"cache","what":"stored","tier":"memory","entries":1,"seq":1}"#
    stage.daemon.send(
      Array(repeating: event, count: events).joined(separator: "\n"), over: subscription)
    _ = stage.ask()
    #expect(asked == fetches)
  }

  @Test func `all that has been told is read, though a read brings a part of it`() {
    _ = stage.ask()
    let event =
      #"{"event":"cache","what":"stored","note":"\#(String(repeating: "x", count: 40_000))"}"#
    for _ in 0..<3 { stage.daemon.send(event, over: subscription) }
    stage.daemon.send(#"{"event":"cache","what":"marked"}"#, over: subscription)
    _ = stage.ask()
    #expect(asked == 2)
  }

  // MARK: The subscription

  private var subscriptions: Int { stage.daemon.requests("subscribe").count }

  @Test func `the daemon need not tell when nobody has asked for long`() {
    _ = stage.ask()
    #expect(stage.daemon.openConnections == 2)
    stage.pass(HeldPictures.patience - .milliseconds(1))
    #expect(stage.daemon.openConnections == 2)
    stage.pass(.milliseconds(1))
    #expect(stage.daemon.openConnections == 1 && subscriptions == 1)
    // The first picture brings about a subscription again, and the next one is held.
    for _ in 0..<3 { _ = stage.ask() }
    #expect(asked == 3 && subscriptions == 2 && stage.daemon.openConnections == 2)
  }

  @Test func `a subscription lasts while pictures are asked for`() {
    for _ in 0..<3 {
      _ = stage.ask()
      stage.pass(HeldPictures.patience - .seconds(1))
    }
    #expect(subscriptions == 1 && stage.daemon.openConnections == 2)
    stage.handler.forgetHeld()
    stage.pass(.seconds(1))
    #expect(stage.daemon.openConnections == 1)
  }

  @Test func `a picture that was asked for before the end of a subscription is not held after it`() {
    stage.daemon.onRequest = { _ in }
    stage.begin(PlannedExchange())
    let request = stage.daemon.requests[stage.daemon.requests.count - 1]
    stage.pass(HeldPictures.patience - .seconds(2))
    #expect(stage.daemon.openConnections == 1)
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] in daemon.answer($0) }
    stage.daemon.give(request)
    stage.loop.settle()
    _ = stage.ask()
    #expect(asked == 2 && subscriptions == 2)
  }

  @Test func `a purge of the gateway's own takes all as well`() {
    _ = stage.ask()
    stage.handler.forgetHeld()
    _ = stage.ask()
    #expect(asked == 2)
  }

  @Test func `nothing is held without the daemon's word, which is asked for once a second`() {
    _ = stage.ask()
    let count = stage.daemon.requests("subscribe").count
    func hangUp() {
      stage.daemon.hangUp(subscription)
      stage.loop.settle()
    }
    hangUp()
    _ = stage.ask()
    #expect(asked == 2 && stage.daemon.requests("subscribe").count == count + 1)
    hangUp()
    for _ in 0..<2 { _ = stage.ask() }
    #expect(asked == 4 && stage.daemon.requests("subscribe").count == count + 1)
    stage.pass(.seconds(1))
    _ = stage.ask()
    #expect(asked == 5 && stage.daemon.requests("subscribe").count == count + 2)
    for _ in 0..<2 { _ = stage.ask() }
    #expect(asked == 6)
  }

  @Test func `only so many are held, and none longer than it is of use`() throws {
    for number in 0...HeldPictures.fewest {
      let url = "http://h/\(number)"
      _ = stage.ask { $0.url = url }
    }
    let count = asked
    _ = stage.ask { $0.url = "http://h/0" }
    #expect(asked == count)
    _ = stage.ask { $0.url = "http://h/\(HeldPictures.fewest)" }
    #expect(asked == count + 1)
    weak var held: HTTPResponse?
    do {
      let exchange = stage.ask { $0.url = "http://h/1" }
      held = exchange.answers[0]
    }
    #expect(held != nil)
    stage.pass(HeldPictures.lifetime)
    #expect(held == nil)
  }

  @Test func `a very long request is not held`() {
    let url = "http://h/" + String(repeating: "x", count: 2_000)
    for _ in 0..<2 { _ = stage.ask { $0.url = url } }
    #expect(asked == 2)
  }
}
