import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Purges by tag over HTTP at one of ten hosts.
@Suite(.serialized, .slow) struct GatewayFleetPurgeSoakTests {
  private static let count = 500
  private static let limit = Duration.milliseconds(100)
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

  /// Purges a tag, and waits until the tenth host has none of its pictures; the time of both.
  private func purge(_ tag: String, _ urls: [String]) throws -> Duration {
    let began = ContinuousClock.now
    let answer = try gateway.get(
      "/purge?tag=" + tag, ["Authorization: Bearer " + Self.token], method: "POST")
    guard answer.json == ["removed": true] else { throw TestFailure(answer.text) }
    while try !areGone(urls) {
      guard ContinuousClock.now - began < .seconds(10) else { throw TestFailure("\(tag) stays") }
    }
    return ContinuousClock.now - began
  }

  /// Whether the tenth host has none of the pictures, which it is asked all at once.
  private func areGone(_ urls: [String]) throws -> Bool {
    let client = try tenth.client
    for url in urls { try client.send(#"{"cmd":"query","url":"\#(url)"}"#) }
    return try urls.map { _ in try client.receive()["tier"]?.string }.allSatisfy { $0 == "none" }
  }

  private func expectAll(_ urls: [String]) throws {
    for host in stage.hosts {
      #expect(try urls.allSatisfy { try host.tier(of: $0) != "none" })
    }
  }

  @Test func `pictures go one by one, and no other goes with them`() throws {
    let others = try add("other") { "other-\($0)" }
    let urls = try add("news") { "news-\($0)" }
    let times = try urls.enumerated().map { try purge("news-\($0.offset)", [$0.element]) }.sorted()
    print(
      "purges by tag on ten hosts: middle \(times[Self.count / 2]), p99 \(times[Self.count * 99 / 100])"
    )
    #expect(times[Self.count * 99 / 100] <= Self.limit)
    try expectAll(others)
  }

  @Test func `five hundred go with one purge, and no other goes with them`() throws {
    let others = try add("other") { _ in "others" }
    let urls = try add("news") { _ in "news" }
    let time = try purge("news", urls)
    print("\(Self.count) pictures of one tag on ten hosts: \(time)")
    #expect(time <= Self.limit)
    try expectAll(others)
  }
}
