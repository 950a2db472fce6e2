import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Fetches that look at what is cached, and leave it as it was.
struct PeekTests {
  private static let thumbnail = #""resize":{"width":20,"height":10}"#
  private static let forms = [
    #""deliver":"path""#, #""deliver":"none""#, #""deliver":"inline""#, #""deliver":"fd""#,
    #""deliver":"none","http":true"#, #""deliver":"none","tags":["t"]"#,
    #""deliver":"none","describe":true"#, thumbnail, thumbnail + #","deliver":"inline""#,
  ]

  /// Two pictures, one of which is there in another form as well, for 100 seconds unused.
  private func stage(in tier: HitTier) throws -> CoreStage {
    let stage = try CoreStage()
    for path in ["/a.png", "/b.png"] {
      stage.origin.plan(
        path,
        .picture(
          TestPicture.png(width: 100, height: 50), headers: [("Cache-Control", "max-age=9999")]))
      try stage.fetch(path)
    }
    #expect(try stage.ask("/a.png", Self.thumbnail)["ok"] == true)
    try stage.leave(in: tier)
    stage.jump(.seconds(100))
    return stage
  }

  private func counters(_ stage: CoreStage) throws -> [JSONValue?] {
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    return ["memory", "disk"].flatMap { tier in
      ["hits", "misses", "insertions", "entries"].map { stats[tier]?[$0] }
    } + ["hit", "fetch"].map { stats["latency_us"]?[$0]?["count"] }
  }

  private func removed(from tier: String, _ stage: CoreStage) throws -> Int64? {
    let answer = try stage.client.ask(#"{"cmd":"purge","tier":"\#(tier)","unused_for":50}"#)
    return answer[tier]?["entries"]?.integer
  }

  @Test(arguments: HitTier.allCases, forms)
  func `a peek is no look-up, keeps nothing, and its picture is not used`(
    tier: HitTier, form: String
  ) throws {
    let stage = try stage(in: tier)
    let before = try counters(stage)
    for path in ["/a.png", "/b.png"] {
      for _ in 1...2 {
        let line = try stage.ask(path, form + #","cache":"peek""#)
        #expect(line["source"]?.string == tier.rawValue, "\(line)")
        _ = stage.client.takeDescriptor()
      }
    }
    #expect(try counters(stage) == before)
    #expect(try removed(from: "memory", stage) == (tier == .memory ? 3 : 0))
    #expect(try removed(from: "disk", stage) == 3)
  }

  @Test(arguments: HitTier.allCases)
  func `the same fetch without a peek counts`(tier: HitTier) throws {
    for form in Self.forms {
      let stage = try stage(in: tier)
      let before = try counters(stage)
      #expect(try stage.ask("/a.png", form + #","cache":"only-if-cached""#)["ok"] == true)
      #expect(try counters(stage) != before)
      #expect(try removed(from: tier.rawValue, stage) ?? 3 < 3, "\(form)")
    }
  }

  @Test func `pixels are shown and not used`() throws {
    let stage = try stage(in: .memory)
    _ = try stage.ask("/a.png", #""deliver":"pixels""#)
    _ = stage.client.takeDescriptor()
    stage.jump(.seconds(100))
    let before = try counters(stage)
    #expect(try stage.ask("/a.png", #""deliver":"pixels","cache":"peek""#)["source"] == "memory")
    #expect(try counters(stage) == before)
    #expect(try removed(from: "memory", stage) == 4)
  }

  @Test func `a line of a peek is not taken for one of a known shape, nor the other way round`()
    throws
  {
    let stage = try stage(in: .memory)
    let plain = #"{"cmd":"fetch","url":"\#(stage.base)/a.png","cache":"only-if-cached"}"#
    let peek = #"{"cmd":"fetch","url":"\#(stage.base)/a.png","cache":"peek"}"#
    for _ in 1...4 { #expect(try stage.client.ask(plain)["ok"] == true) }
    let hits = try stage.stats("memory", "hits")
    let short = stage.core.parts.hits.count
    #expect(short > 0)
    for _ in 1...4 { #expect(try stage.client.ask(peek)["ok"] == true) }
    #expect(try stage.stats("memory", "hits") == hits && stage.core.parts.hits.count == short)
    #expect(try stage.client.ask(plain)["ok"] == true)
    #expect(try stage.stats("memory", "hits") == hits + 1)
  }

  @Test func `nobody is asked for what is not there`() throws {
    let stage = try stage(in: .memory)
    let before = try counters(stage)
    #expect(try stage.outcome("/none", #""cache":"peek""#) == "not_cached")
    #expect(try counters(stage) == before && stage.origin.count("/none") == 0)
  }

  @Test func `a remembered redirect is followed, and not used`() throws {
    let stage = try stage(in: .memory)
    stage.origin.plan(
      "/old", .status(301, headers: [("Location", "/a.png"), ("Cache-Control", "max-age=9999")]))
    #expect(try stage.outcome("/old") == "memory")
    let used = try stage.stats("failures", "hits")
    #expect(try stage.outcome("/old", #""cache":"peek""#) == "memory")
    #expect(try stage.stats("failures", "hits") == used)
  }

  @Test func `another word is refused with those that are taken`() throws {
    let stage = try CoreStage()
    let error = try stage.ask("/a", #""cache":"look""#)["error"]
    #expect(error?["code"] == "bad_request")
    #expect(error?["message"]?.string?.contains("\"peek\"") == true)
  }
}
