import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `clients` and `failures`.
struct ActivityTests {
  private func rows(_ command: String, _ client: TestClient, _ fields: String = "") throws -> [JSONValue] {
    try client.ask(#"{"cmd":"\#(command)"\#(fields)}"#)[command]?.array ?? []
  }

  // MARK: Clients

  @Test func `requests count for their connection, on the short way as well`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png()))
    let (busy, other) = (try stage.connect(), try stage.connect())
    for _ in 0..<20 { _ = try busy.ask(#"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"none"}"#) }
    stage.pass(.seconds(61))
    let rows = try rows("clients", other).suffix(2)
    #expect(rows.map { $0["requests"] } == [20, 1])
    #expect(rows.map { $0["age_s"] } == [61, 61])
    #expect(rows.first?["bytes_sent"]?.integer ?? 0 > 20 * 200)
    #expect(rows.first?["connection"] != rows.last?["connection"])
  }

  @Test func `what is still to be answered is under way`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .held(at: Gate(), then: .picture(png())))
    let waiting = try stage.connectObserver()
    for _ in 0..<3 { try waiting.send(#"{"cmd":"fetch","url":"\#(stage.base)/a"}"#) }
    stage.settle()
    #expect(try rows("clients", stage.client).map { $0["under_way"] }.contains(3))
  }

  @Test func `a user is told of with connections that have ended`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    for _ in 0..<5 { _ = try stage.connect().ask(#"{"cmd":"ping"}"#) }
    stage.settle()
    let answer = try stage.client.ask(#"{"cmd":"clients"}"#)
    #expect(answer["clients"]?.array?.count == 1)
    #expect(answer["users"]?.array?.map { [$0["connected"], $0["accepted"], $0["requests"]] } == [[1, 6, 6]])
  }

  @Test func `the users come with the last page, and every connection once`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let others = try (0..<7).map { _ in try stage.connect() }
    var (seen, cursor): ([JSONValue?], String?) = ([], nil)
    repeat {
      let after = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let page = try stage.client.ask(#"{"cmd":"clients","limit":3\#(after)}"#)
      seen += (page["clients"]?.array ?? []).map { $0["connection"] }
      cursor = page["cursor"]?.string
      #expect((page["users"] != nil) == (cursor == nil))
    } while cursor != nil
    #expect(seen.count == others.count + 1 && Set(seen.map { $0?.integer }).count == seen.count)
    #expect(try stage.client.ask(#"{"cmd":"clients","cursor":"x"}"#)["error"]?["code"] == "bad_request")
  }

  /// As many as are added up in one step, and some.
  @Test func `a user with hundreds of connections is told of with all of them`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let others = try (0..<300).map { _ in try stage.connect() }
    stage.settle()
    let answer = try stage.client.ask(#"{"cmd":"clients","limit":1000}"#)
    #expect(answer["clients"]?.array?.count == 301)
    #expect(answer["users"]?.array?.map { [$0["connected"], $0["accepted"]] } == [[301, 301]])
    withExtendedLifetime(others) {}
  }

  @Test func `the use of few users is remembered, and of those who have asked for most`() {
    var former = FormerUse()
    for uid in 0..<100 { former.add(ClientUse(requests: 1_000 - uid), of: UInt32(uid)) }
    #expect(former.users.count == 64 && former.users[0] != nil && former.users[99] != nil)
  }

  // MARK: Failures

  @Test func `the latest failures stand first, and one that comes again is counted`() throws {
    let stage = try CoreStage("Disk.Enabled=no", "HTTP.NegativeFreshness=0")
    stage.origin.plan("/a", .status(404))
    stage.origin.plan("/b", .status(503))
    for path in ["/a", "/b", "/a"] { _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)\#(path)"}"#) }
    let rows = try rows("failures", stage.client)
    #expect(rows.map { $0["url"] } == [.string(stage.base + "/a"), .string(stage.base + "/b")])
    #expect(rows.map { $0["times"] } == [2, 1])
    #expect(rows.map { $0["status"] } == [404, 503])
    #expect(rows[0]["code"] == "http_status" && rows[0]["message"]?.string?.isEmpty == false)
    let first = try stage.client.ask(#"{"cmd":"failures","limit":1}"#)
    let next = try stage.client.ask(#"{"cmd":"failures","limit":1,"cursor":"\#(first["cursor"]?.string ?? "")"}"#)
    #expect(next["failures"]?[0]?["status"] == 503 && next["cursor"] == .null)
  }

  @Test(arguments: ["only-if-cached", "peek"])
  func `what is only looked for has not failed`(mode: String) throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let answer = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.base)/a","cache":"\#(mode)"}"#)
    #expect(answer["error"]?["code"] == "not_cached")
    #expect(try rows("failures", stage.client).isEmpty)
  }

  @Test func `so many failures are kept, and no user has all the places`() {
    let failed = RecentFailures(Access(owner: 7, groups: { _ in [] }))
    let long = String(repeating: "é", count: 4_000)
    for uid: UInt32 in [1, 2, 7, 3] {
      for number in 0..<1_000 { failed.add(WireError(.dns, long), of: "http://\(number)/\(long)", for: uid) }
    }
    let kept = Array(failed.before(.max))
    #expect(kept.count == RecentFailures.most)
    #expect(kept.count { $0.uid == 3 } == RecentFailures.most / 2 && kept[0].url.hasPrefix("http://999/"))
    #expect(kept.allSatisfy { $0.url.utf8.count <= 1_024 && $0.message.utf8.count <= 512 })
    #expect(failed.heldBytes > 128 << 10 && failed.heldBytes < 256 << 10)
  }
}
