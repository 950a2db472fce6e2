import Glibc
import ImgdConnection
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

/// The gateway's requests to the daemon.
struct DaemonLinkTests {
  private let loop: EventLoop
  private let daemon: PlannedDaemon
  private let link: DaemonLink
  private let outcomes = Outcomes()

  /// What has been called back with, in this order.
  private final class Outcomes {
    var all: [DaemonLink.Outcome] = []

    var codes: [String] {
      all.map { outcome in
        guard case .success(let answer) = outcome else { return "broken" }
        return answer.reply.errorCode ?? "ok"
      }
    }
  }

  init() throws {
    loop = try EventLoop()
    daemon = try PlannedDaemon(on: loop)
    link = DaemonLink(on: loop) { [path = daemon.path] in path }
  }

  @discardableResult
  private func fetch(_ url: String = "http://h/a") -> DaemonCall {
    link.ask(.fetch(FetchRequest(url: url)), within: .seconds(60)) { [outcomes] in
      outcomes.all.append($0)
    }
  }

  /// How many bytes the picture has that came with an answer; nil without one.
  private func length(of answer: DaemonAnswer) -> Int? {
    guard let file = answer.takeDescriptor() else { return nil }
    return lseek(file.number, 0, SEEK_END)
  }

  @Test func `nothing is connected to before there is a request`() {
    loop.settle()
    #expect(daemon.connectionCount == 0 && !link.isConnected)
    fetch()
    loop.settle()
    #expect(daemon.connectionCount == 1 && link.isConnected)
  }

  @Test func `answers in any order find their requests, each with its descriptor`() throws {
    for number in 0..<3 { fetch("http://h/\(number)") }
    loop.settle()
    for number in [2, 0, 1] {
      daemon.give(daemon.requests[number], [UInt8](repeating: UInt8(number), count: number + 1))
    }
    loop.settle()
    #expect(outcomes.codes == ["ok", "ok", "ok"])
    for (outcome, count) in zip(outcomes.all, [3, 1, 2]) {
      let answer = try outcome.get()
      #expect(length(of: answer) == count)
      #expect(!answer.hasDescriptor)
    }
  }

  @Test func `nothing is called back with inside the request`() {
    daemon.close()
    fetch()
    #expect(outcomes.all.isEmpty)
    loop.settle()
    #expect(outcomes.codes == ["broken"])
  }

  @Test func `a fetch that is given up is cancelled by its receipt, and its picture closed`() throws {
    let call = fetch()
    loop.settle()
    call.cancel()
    call.cancel()
    loop.settle()
    let cancels = daemon.requests("cancel")
    let receipt = try #require(daemon.requests[0].line["receipt"]?.string)
    #expect(cancels.count == 1 && cancels[0].line["receipt"]?.string == receipt)
    daemon.give(daemon.requests[0])
    daemon.answer(cancels[0])
    fetch()
    loop.settle()
    daemon.give(daemon.requests[2], [9])
    loop.settle()
    #expect(outcomes.codes == ["ok"])
    // The descriptor of the first answer was not left for the second.
    #expect(length(of: try outcomes.all[0].get()) == 1)
  }

  @Test func `other requests have no receipt, and nothing is sent when they are given up`() {
    let call = link.ask(.stats) { [outcomes] in outcomes.all.append($0) }
    loop.settle()
    call.cancel()
    loop.settle()
    #expect(daemon.requests.count == 1 && daemon.requests[0].line["receipt"] == nil)
    daemon.answer(daemon.requests[0])
    loop.settle()
    #expect(outcomes.all.isEmpty)
  }

  @Test func `a request is sent once more when the connection breaks, under another receipt`() {
    fetch("http://h/1")
    let given = fetch("http://h/2")
    loop.settle()
    given.cancel()
    loop.settle()
    daemon.hangUp(1)
    loop.settle()
    let fetches = daemon.requests("fetch")
    #expect(fetches.map(\.connection) == [1, 1, 2])
    #expect(fetches[2].line["url"] == "http://h/1")
    #expect(fetches[2].line["receipt"] != fetches[0].line["receipt"])
    daemon.hangUp(2)
    loop.settle()
    #expect(daemon.connectionCount == 2 && outcomes.codes == ["broken"])
  }

  @Test func `a daemon that has gone is connected to again when there is a request`() {
    fetch()
    loop.settle()
    daemon.answer(daemon.requests[0])
    loop.settle()
    daemon.hangUp(1)
    loop.settle()
    #expect(!link.isConnected && daemon.connectionCount == 1)
    fetch()
    loop.settle()
    #expect(link.isConnected && daemon.connectionCount == 2)
  }

  @Test(arguments: [("shutting_down", 2), ("too_many_requests", 1)])
  func `a reason for hanging up decides whether a request is sent again`(
    code: String, connections: Int
  ) {
    fetch()
    loop.settle()
    daemon.send(#"{"ok":false,"error":{"code":"\#(code)"}}"#, over: 1)
    daemon.hangUp(1)
    loop.settle()
    #expect(daemon.connectionCount == connections)
    #expect(outcomes.codes == (connections == 1 ? [code] : []))
  }

  @Test func `a line that was too long is that of the longest request`() {
    for url in ["http://h/1", "http://h/" + String(repeating: "x", count: 99), "http://h/2"] {
      fetch(url)
    }
    loop.settle()
    daemon.send(#"{"ok":false,"error":{"code":"line_too_long"}}"#, over: 1)
    loop.settle()
    #expect(outcomes.codes == ["line_too_long"])
    daemon.answer(daemon.requests[0])
    daemon.answer(daemon.requests[2])
    loop.settle()
    #expect(outcomes.codes == ["line_too_long", "ok", "ok"])
  }

  @Test func `what is no answer of imgd ends the connection`() {
    fetch()
    loop.settle()
    daemon.send("HTTP/1.1 400 Bad Request", over: 1)
    loop.settle()
    #expect(daemon.connectionCount == 2)
    daemon.send("[]", over: 2)
    loop.settle()
    #expect(outcomes.codes == ["broken"])
  }

  @Test func `events and answers to nobody are passed over`() {
    fetch()
    loop.settle()
    daemon.send(#"{"id":99,"ok":true}"#, over: 1)
    daemon.answer(daemon.requests[0], #""event":"progress""#)
    loop.settle()
    #expect(outcomes.all.isEmpty)
    daemon.answer(daemon.requests[0])
    loop.settle()
    #expect(outcomes.codes == ["ok"])
  }

  @Test func `more requests than the daemon takes wait, and still more are refused`() {
    for _ in 0..<RequestChannel.mostUnderWay + 4_097 { fetch() }
    loop.settle()
    #expect(daemon.requests.count == RequestChannel.mostUnderWay)
    #expect(outcomes.codes == ["broken"])
    for request in daemon.requests {
      daemon.answer(request)
      // The socket has not room for all.
      if request.id.isMultiple(of: 64) { loop.settle() }
    }
    loop.settle()
    #expect(daemon.requests.count == 2 * RequestChannel.mostUnderWay)
    #expect(outcomes.all.count == RequestChannel.mostUnderWay + 1)
  }
}

/// Subscriptions of the gateway.
struct EventSubscriptionTests {
  private let loop: EventLoop
  private let daemon: PlannedDaemon
  private let heard = Heard()

  private final class Heard {
    var words: [String] = []
  }

  init() throws {
    loop = try EventLoop()
    daemon = try PlannedDaemon(on: loop)
  }

  private func subscribe() -> EventSubscription {
    EventSubscription(
      on: loop, path: daemon.path, topics: [.cache, .jobs],
      onBegin: { [heard] _ in heard.words.append("begin") },
      onEvent: { [heard] in heard.words.append($0.event ?? "") },
      onLost: { [heard] _ in heard.words.append("lost") })
  }

  @Test func `events are passed on until the connection is lost`() {
    let events = subscribe()
    loop.settle()
    #expect(daemon.requests[0].line["events"] == ["jobs", "cache"])
    daemon.send(#"{"ok":true,"events":["jobs","cache"],"snapshot":{}}"#, over: 1)
    daemon.send(#"{"event":"cache","seq":1}"#, over: 1)
    daemon.send(#"{"event":"job","seq":2}"#, over: 1)
    loop.settle()
    #expect(heard.words == ["begin", "cache", "job"])
    daemon.hangUp(1)
    loop.settle()
    #expect(heard.words.last == "lost" && heard.words.count == 4)
    events.close()
  }

  @Test func `a refusal and a daemon that is not there are losses, told later`() {
    let refused = subscribe()
    loop.settle()
    daemon.send(#"{"ok":false,"error":{"code":"bad_request"}}"#, over: 1)
    loop.settle()
    #expect(heard.words == ["lost"])
    daemon.close()
    let absent = subscribe()
    #expect(heard.words == ["lost"])
    loop.settle()
    #expect(heard.words == ["lost", "lost"])
    refused.close()
    absent.close()
  }

  @Test func `nothing is passed on after the end`() {
    let events = subscribe()
    loop.settle()
    daemon.send(#"{"ok":true}"#, over: 1)
    events.close()
    loop.settle()
    #expect(heard.words.isEmpty && daemon.connectionCount == 1)
  }
}
