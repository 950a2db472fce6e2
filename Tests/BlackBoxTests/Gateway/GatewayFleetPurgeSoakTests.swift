import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Purges by tag over HTTP at one of ten hosts.
@Suite(.serialized, .slow) struct GatewayFleetPurgeSoakTests {
  private static let count = 500
  private static let token = "correct-horse-battery"

  private let stage: FleetStage
  private let gateway: GatewayProcess
  private let directory = TemporaryDirectory()

  init() throws {
    stage = try FleetStage()
    let file = directory.path + "/token"
    try write(Self.token + "\n", to: file)
    chmod(file, 0o600)
    gateway = try GatewayProcess(before: stage.hosts[0].daemon.socket, ["TokenFile=\(file)"])
  }

  private var tenth: FleetHost { stage.hosts[9] }

  /// Has each host fetch pictures, which get one tag each.
  private func add(_ name: String, tag: (Int) -> String) throws -> [String] {
    try (0..<Self.count).map { number in
      let url = stage.pictures.add("/\(name)-\(number)")
      for answer in try stage.fetchAll(url, #""tags":["\#(tag(number))"],"deliver":"none""#) {
        guard answer["ok"] == .bool(true) else { throw TestFailure(answer.text) }
      }
      return url
    }
  }

  /// Purges a tag, and waits until the tenth host has none of its pictures; the time since it was asked for, and
  /// since it was answered.
  private func purge(_ tag: String, until isGone: () throws -> Bool) throws -> (asked: Duration, answered: Duration) {
    let asked = ContinuousClock.now
    let answer = try gateway.get(
      "/purge?tag=" + tag, ["Authorization: Bearer " + Self.token], method: "POST")
    guard answer.json == ["removed": true] else { throw TestFailure(answer.text) }
    let answered = ContinuousClock.now
    // Without the pauses of `becomes`, which would be in the time.
    while try !isGone() {
      guard ContinuousClock.now - answered < Patience.limit else { throw TestFailure("\(tag) stays") }
    }
    let now = ContinuousClock.now
    return (now - asked, now - answered)
  }

  /// Whether the tenth host has no picture whose URL begins so.
  private func hasNone(below prefix: String) throws -> Bool {
    try ["memory", "disk"].allSatisfy { tier in
      let line = #"{"cmd":"entries","tier":"\#(tier)","prefix":"\#(prefix)","limit":1}"#
      return try tenth.ask(line)["entries"]?.array?.isEmpty == true
    }
  }

  private func expectAll(_ urls: [String]) throws {
    for host in stage.hosts {
      #expect(try urls.allSatisfy { try host.tier(of: $0) != "none" })
    }
  }

  @Test func `pictures go one by one, and no other goes with them`() throws {
    let others = try add("other") { "other-\($0)" }
    let urls = try add("news") { "news-\($0)" }
    let times = try urls.enumerated().map { number, url in
      try purge("news-\(number)") { try tenth.tier(of: url) == "none" }
    }
    for (since, times) in [("asked for", times.map(\.asked)), ("answered", times.map(\.answered))] {
      let (middle, late) = (times.sorted()[Self.count / 2], times.sorted()[Self.count * 99 / 100])
      print("gone on the tenth of ten hosts since the purge was \(since): middle \(middle), p99 \(late)")
    }
    try expectAll(others)
  }

  @Test func `five hundred go with one purge, and no other goes with them`() throws {
    let others = try add("other") { _ in "others" }
    _ = try add("news") { _ in "news" }
    #expect(try !hasNone(below: stage.origin.url("/news-")))
    let time = try purge("news") { try hasNone(below: stage.origin.url("/news-")) }
    print("\(Self.count) pictures of one tag on ten hosts: \(time.asked), \(time.answered) since the answer")
    try expectAll(others)
  }
}
