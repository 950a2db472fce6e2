import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `origins`: what is counted for each section and each host, and where.
struct OriginTallyTests {
  @Test func `fetches and downloads are counted with their section and their host`() throws {
    let stage = try CoreStage("Origin *.example.MaxActive=3")
    for path in ["/a", "/b"] { stage.origin.plan(path, .picture(png(), headers: [("Cache-Control", "max-age=60")])) }
    for _ in 0..<3 { try stage.ask("/a", host: "x.example") }
    try stage.ask("/b", host: "y.example")
    try stage.ask("/c", host: "y.example")
    try stage.ask("/a", host: "other.test")
    let rows = try stage.origins()
    #expect(rows.keys.sorted() == ["[*.example]", "other.test", "x.example", "y.example"])
    #expect(rows["[*.example]"]?.numbers == [5, 2, 3, 1, 2_000])
    #expect(rows["x.example"]?.numbers == [3, 2, 1, 0, 1_000])
    #expect(rows["y.example"]?.numbers == [2, 0, 2, 1, 1_000])
    #expect(rows["other.test"]?.numbers == [1, 0, 1, 0, 1_000])
    #expect(rows["x.example"]?["section"] == .string("*.example") && rows["other.test"]?["section"] == .null)
  }

  @Test func `stats has the busiest hosts, and some sections`() throws {
    let stage = try CoreStage((0..<20).map { "Origin s\($0).example.MaxActive=3" })
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "max-age=60")]))
    for number in 0..<20 {
      for _ in 0...number { try stage.ask("/a", host: "h\(number).test") }
    }
    let rows = try stage.client.ask(#"{"cmd":"stats"}"#)["origins"]?.array ?? []
    #expect(rows.compactMap { $0["host"]?.string } == (4..<20).reversed().map { "h\($0).test" })
    #expect(rows.filter { $0["host"] == nil }.count == 16)
    #expect(rows.first?["requests"] == .integer(20) && rows.first?["hits"] == .integer(19))
  }

  @Test func `hits of lines of a known shape count, whichever way they go`() throws {
    let stage = try CoreStage("Origin 127.0.0.1.MaxActive=3")
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "max-age=60")]))
    for delivery in ["path", "none", "inline", "fd"] {
      for _ in 0..<25 {
        let fetch = #"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"\#(delivery)"}"#
        #expect(try stage.client.ask(fetch)["ok"] == .bool(true))
      }
    }
    #expect(try stage.stats("memory", "hits") == 99)
    let rows = try stage.origins()
    #expect(rows["127.0.0.1"]?.numbers == [100, 99, 1, 0, 1_000])
    #expect(rows["[127.0.0.1]"]?.numbers == rows["127.0.0.1"]?.numbers)
  }

  @Test func `hits on disk, shared downloads and confirmations count`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=9")])))
    for _ in 0..<3 { try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#) }
    gate.open()
    #expect(try stage.client.receive(3).allSatisfy { $0["ok"] == .bool(true) })
    #expect(try stage.origins()["127.0.0.1"]?.numbers == [3, 0, 1, 0, 1_000])
    #expect(try stage.origins()["127.0.0.1"]?["coalesced"] == .integer(2))
    try stage.restart()
    #expect(try stage.fetch("/a")["source"] == .string("disk"))
    #expect(try stage.origins()["127.0.0.1"]?.numbers == [1, 1, 0, 0, 0])
    stage.jump(.seconds(10))
    #expect(try stage.fetch("/a")["source"] == .string("revalidated"))
    #expect(try stage.origins()["127.0.0.1"]?.numbers == [2, 1, 1, 0, 0])
  }

  @Test func `what stands in for an origin is counted with its own host`() throws {
    let stage = try CoreStage("Origin 127.0.0.1.Fallback=https://mirror.example{path}")
    stage.origin.plan("/a", .status(500), .picture(png()))
    try stage.fetch("/a")
    let rows = try stage.origins()
    #expect(rows["127.0.0.1"]?.numbers == [1, 0, 1, 1, 0])
    #expect(rows["mirror.example"]?.numbers == [0, 0, 1, 0, 1_000])
  }

  @Test func `the time to the first byte is told to a quarter`() throws {
    let stage = try CoreStage()
    for number in 0..<10 {
      let gate = Gate()
      stage.origin.plan("/\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/\#(number)","deliver":"none"}"#)
      stage.pass(.milliseconds(number < 9 ? 40 : 3_000))
      gate.open()
      _ = try stage.client.receive()
    }
    let times = try #require(try stage.origins()["127.0.0.1"]?["first_byte_us"])
    let (median, late) = (try #require(times["p50"]?.double), try #require(times["p99"]?.double))
    #expect(times["count"] == .integer(10))
    #expect((40_000...50_000).contains(median) && (3_000_000...3_750_000).contains(late), "\(times)")
  }

  // MARK: Held back

  @Test func `a host that is left alone, and what waits for it, says so`() throws {
    let stage = try CoreStage("Downloads.Retries=0", "Origin 127.0.0.1.MaxActive=3")
    stage.origin.plan("/busy", .status(429, headers: [("Retry-After", "30")]))
    try stage.ask("/busy", host: "127.0.0.1")
    stage.pass(.seconds(16))
    for name in ["127.0.0.1", "[127.0.0.1]"] {
      let row = try stage.origins()[name]
      #expect(row?["held"] == .string("asked") && row?["wait_ms"] == .integer(14_000), "\(name)")
    }
    let held = try stage.heldFetch("/b")
    #expect(held.event["held"] == .string("asked") && held.event["wait_ms"] == .integer(14_000))
    #expect(held.job["held"] == .string("asked") && held.job["retry_after_ms"] == .integer(14_000))
    stage.pass(.seconds(15))
    #expect(try stage.origins()["127.0.0.1"]?["held"] == nil)
  }

  @Test(
    arguments: [
      ("Origin 127.0.0.1.Rate=6/min", "rate", 10_000, "begin no faster"),
      ("Origin 127.0.0.1.MaxActive=1", "host_places", nil, "1 download is running from 127.0.0.1"),
      ("Downloads.MaxActive=1", "places", nil, "1 download is running"),
    ] as [(String, String, Int64?, String)])
  func `the reason is told while it lasts`(setting: String, reason: String, wait: Int64?, words: String) throws {
    let stage = try CoreStage(setting)
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a"}"#)
    let held = try stage.heldFetch("/b", timeout: 500)
    let row = try stage.origins()["127.0.0.1"]
    for line in [held.event, held.job, try #require(row)] {
      #expect(line["held"] == .string(reason), "\(line)")
      #expect(line["wait_ms"] == wait.map { .integer($0) })
    }
    #expect(row?["active"] == .integer(1) && row?["queued"] == .integer(1))
    stage.pass(.milliseconds(500))
    let late = try held.client.receive()
    #expect(late["error"]?["details"]?["held"] == .string(reason) && late.failureMessage.contains(words))
    gate.open()
    stage.settle()
    #expect(try stage.origins()["127.0.0.1"]?["held"] == nil)
  }

  @Test func `a section counts what waits and runs at all of its hosts`() throws {
    let stage = try CoreStage("Origin *.example.MaxActive=1")
    let gate = Gate()
    for path in ["/1", "/2", "/3"] { stage.origin.plan(path, .held(at: gate, then: .picture(png()))) }
    for (path, host) in [("/1", "a.example"), ("/2", "a.example"), ("/3", "b.example")] {
      try stage.begin(#"{"cmd":"fetch","url":"\#(stage.origin.url(path, host: host))"}"#)
    }
    #expect(try stage.origins()["[*.example]"]?.load == [2, 1])
    #expect(try stage.client.ask(#"{"cmd":"cancel","all":true}"#)["ok"] != nil)
    #expect(try stage.origins()["[*.example]"]?.load == [0, 0])
    gate.open()
  }

  // MARK: Refusals

  @Test func `an origin that keeps the daemon out is told until it lets it in`() throws {
    let stage = try CoreStage("Downloads.Retries=0")
    for number in 0..<4 { stage.origin.plan("/\(number)", number < 3 ? .status(403) : .fails(.connect)) }
    stage.origin.plan("/gone", .status(404))
    for number in 0..<4 { try stage.ask("/\(number)", host: "127.0.0.1") }
    stage.pass(.seconds(5))
    let refusal = try stage.origins()["127.0.0.1"]?["refusal"]
    #expect(refusal?["code"] == .string("connect") && refusal?["times"] == .integer(4))
    #expect(refusal?["age_s"] == .integer(5))
    try stage.ask("/gone", host: "127.0.0.1")
    #expect(try stage.origins()["127.0.0.1"]?["refusal"] == nil)
  }

  @Test func `an origin that brings no whole picture is told until it does`() throws {
    let stage = try CoreStage("Downloads.Retries=0")
    stage.origin.plan("/0", .status(500))
    stage.origin.plan("/1", .body(Array("<html>".utf8)))
    stage.origin.plan("/2", .fails(.truncated))
    stage.origin.plan("/well", .picture(png()))
    for (number, (field, value)) in [
      ("status", .integer(500)), ("code", .string("not_an_image")), ("code", .string("truncated")),
    ].enumerated() as EnumeratedSequence<[(String, JSONValue)]> {
      try stage.ask("/\(number)", host: "127.0.0.1")
      let refusal = try stage.origins()["127.0.0.1"]?["refusal"]
      #expect(refusal?[field] == value && refusal?["times"] == .integer(Int64(number) + 1))
    }
    try stage.fetch("/well")
    #expect(try stage.origins()["127.0.0.1"]?["refusal"] == nil)
  }

  @Test func `what breaks off with the network is nobody's failure`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .fails(.connect)), .picture(png()))
    try stage.begin(#"{"cmd":"fetch","url":"\#(stage.origin.url("/a", host: "far.example"))"}"#)
    stage.goOffline()
    gate.open()
    stage.settle()
    let waiting = try stage.origins()["far.example"]
    #expect(waiting?.numbers == [0, 0, 0, 0, 0] && waiting?["held"] == .string("offline"))
    stage.goOnline()
    #expect(try stage.client.receive()["ok"] == .bool(true))
    #expect(try stage.origins()["far.example"]?.numbers == [1, 0, 1, 0, 1_000])
  }

  // MARK: Reloads

  @Test func `sections come and go, and those that remain keep what was counted`() throws {
    let stage = try CoreStage("Origin *.example.MaxActive=3", "Origin a.test.MaxActive=3")
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "max-age=60")]))
    for host in ["x.example", "x.example", "y.example", "y.example", "a.test"] { try stage.ask("/a", host: host) }
    try stage.apply("Origin y.example.MaxActive=2")
    var rows = try stage.origins()
    #expect(rows["[*.example]"]?.numbers == [4, 2, 2, 0, 2_000])
    #expect(rows["x.example"]?.numbers == [2, 1, 1, 0, 1_000], "its section is the same")
    #expect(rows["y.example"] == nil, "it is another section's now")
    for host in ["y.example", "x.example"] { try stage.ask("/a", host: host) }
    rows = try stage.origins()
    #expect(rows["[y.example]"]?.numbers == [1, 1, 0, 0, 0] && rows["y.example"]?.numbers == [1, 1, 0, 0, 0])
    #expect(rows["[*.example]"]?.numbers == [5, 3, 2, 0, 2_000])
  }

  @Test func `pages have each row once`() throws {
    let stage = try CoreStage((0..<9).map { "Origin h\($0).test.MaxActive=3" })
    for number in 0..<9 { try stage.ask("/a", host: "h\(number).test") }
    var names: [String] = []
    var cursor: String?
    repeat {
      let field = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let answer = try stage.client.ask(#"{"cmd":"origins","limit":4\#(field)}"#)
      names += (answer["origins"]?.array ?? []).map(\.originName)
      cursor = answer["cursor"]?.string
    } while cursor != nil
    #expect(names.count == 18 && Set(names).count == 18)
    let wrong = try stage.client.ask(#"{"cmd":"origins","cursor":"x"}"#)
    #expect(wrong.failureCode == "bad_request")
  }
}

extension CoreStage {
  /// A fetch that may fail.
  fileprivate func ask(_ path: String, host: String) throws {
    _ = try client.ask(#"{"cmd":"fetch","url":"\#(origin.url(path, host: host))"}"#)
  }

  /// The rows of `origins`; a section's name is in brackets.
  fileprivate func origins() throws -> [String: JSONValue] {
    let rows = try connect().ask(#"{"cmd":"origins"}"#)["origins"]?.array ?? []
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.originName, $0) })
  }

  /// A fetch that has to wait, with its event and its place in the list.
  fileprivate func heldFetch(_ path: String, timeout: Int = 60_000) throws -> (
    client: TestClient, event: JSONValue, job: JSONValue
  ) {
    let other = try connect()
    try other.send(#"{"cmd":"fetch","url":"\#(base)\#(path)","events":true,"timeout_ms":\#(timeout)}"#)
    let event = try other.receive()
    let jobs = try connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array ?? []
    return (other, event, jobs.first { $0["state"] == .string("queued") } ?? .null)
  }
}

extension JSONValue {
  fileprivate var originName: String { self["host"]?.string ?? "[\(self["section"]?.string ?? "?")]" }

  /// Requests, hits, downloads, errors and bytes.
  fileprivate var numbers: [Int64] {
    ["requests", "hits", "downloads", "errors", "bytes_received"].map { self[$0]?.integer ?? -1 }
  }

  /// How much runs, and how much waits.
  fileprivate var load: [Int64] { ["active", "queued"].map { self[$0]?.integer ?? -1 } }
}
