import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Tags that origins give: `TagFields` in a section `[Origin …]`, and `Cache-Groups`.
struct OriginTagTests {
  private static let section = "Origin 127.0.0.1.TagFields=Surrogate-Key xkey"

  private func tags(_ value: String, _ more: (String, String)...) -> OriginTags {
    OriginTags(
      ResponseHead(
        status: 200, headers: ([("surrogate-key", value)] + more).map { HeaderField($0.0, $0.1) }),
      fields: ["surrogate-key", "xkey"])
  }

  private func plan(_ stage: CoreStage, _ path: String = "/a", _ headers: (String, String)...) {
    stage.origin.plan(path, .picture(png(), headers: headers))
  }

  private func purge(_ filter: String, of stage: CoreStage) throws -> (memory: Int, disk: Int) {
    let answer = try stage.play("> {\"cmd\":\"purge\",\(filter)}\n< {\"ok\":true}")[0]
    return (
      Int(answer["memory"]?["entries"]?.integer ?? -1), Int(answer["disk"]?["entries"]?.integer ?? -1)
    )
  }

  private func names(_ field: String, of path: String = "/a", _ stage: CoreStage) throws -> [String]? {
    let line = try stage.play("> {\"cmd\":\"query\",\"url\":\"ORIGIN\(path)\"}\n< {\"ok\":true}")[0]
    return line[field]?.array?.map { $0.string ?? "" }
  }

  // MARK: Reading

  @Test func `fields are split at blanks and commas, each tag once`() {
    #expect(tags("a b,c\t d ,, a", ("xkey", "e, b")).tags == ["a", "b", "c", "d", "e"])
    #expect(tags("").tags == [] && tags(" , ").tags == [])
    #expect(OriginTags(nil, fields: ["xkey"]).all == [])
  }

  @Test func `what no request may have as a tag is left out, and the first ones stay`() {
    let long = String(repeating: "x", count: 65)
    #expect(tags("\(long) a \(long.dropLast()) b\u{0}c d\u{1B}e \u{7F} ä").tags == ["a", String(long.dropLast()), "ä"])
    let many = (0..<20).map { "t\($0)" }
    #expect(tags(many.joined(separator: " "), ("xkey", "z")).tags == Array(many.prefix(16)))
  }

  @Test func `of long fields no more is read than would be kept`() {
    let long = String(repeating: "\(String(repeating: "x", count: 70)) ", count: 1_000)
    #expect(tags(long + "a", ("xkey", "b")).tags == ["b"])
    let groups = (0..<1_000).map { "\"group-\($0)\"" }.joined(separator: ",")
    #expect(tags("", ("cache-groups", groups)).groups == nil)
  }

  @Test func `groups are strings, bounded like tags`() {
    let many = (0..<100).map { "\"\($0)\"" }.joined(separator: ",")
    #expect(tags("", ("cache-groups", many)).groups == (0..<32).map { "\($0)" })
    let long = String(repeating: "x", count: 65)
    #expect(tags("", ("cache-groups", "\"\(long)\", \"\", \"a b\"")).groups == ["a b"])
    #expect(tags("", ("cache-groups", "a, \"b\"")).groups == nil)
    #expect(tags("").groups == nil && tags("", ("cache-groups", "")).groups == [])
  }

  // MARK: Tags

  @Test func `tags of an origin are tags like those of requests`() throws {
    let stage = try CoreStage(Self.section)
    plan(stage, "/a", ("Surrogate-Key", "one two"), ("Cache-Tag", "three"))
    plan(stage, "/b", ("xkey", "two"))
    plan(stage, "/c")
    for path in ["/a", "/b", "/c"] { try stage.fetch(path) }
    #expect(try names("tags", of: "/a", stage) == ["one", "two"])
    #expect(try names("groups", of: "/a", stage) == nil)
    #expect(try purge(#""tag":"three""#, of: stage) == (0, 0))
    #expect(try purge(#""tag":"two""#, of: stage) == (2, 2))
    #expect(try stage.outcome("/c") == "memory")
  }

  @Test func `without a section fields mean nothing`() throws {
    let stage = try CoreStage("Origin other.example.TagFields=Surrogate-Key")
    plan(stage, "/a", ("Surrogate-Key", "one"))
    try stage.fetch("/a")
    #expect(try names("tags", stage) == [])
    try stage.apply("Origin 127.0.0.1.TagFields=surrogate-key")
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "network")
    #expect(try names("tags", stage) == ["one"])
  }

  @Test func `a confirmation adds tags, of which too many are every one`() throws {
    let stage = try CoreStage(Self.section)
    for round in 0..<6 {
      let field = (0..<16).map { "\(round).\($0)" }.joined(separator: " ")
      stage.origin.plan("/a", .conditional(png(), tag: "\"1\"", headers: [("Surrogate-Key", field)]))
      #expect(try stage.outcome("/a", #""cache":"no-cache""#) == (round == 0 ? "network" : "revalidated"))
      #expect(try names("tags", stage)?.count == (round < 4 ? 16 * (round + 1) : 0))
    }
    #expect(try purge(#""tag":"0.0""#, of: stage) == (1, 1))
  }

  @Test(arguments: [404, 302])
  func `what is remembered without a picture has the tags, too`(status: Int) throws {
    let stage = try CoreStage(Self.section)
    let headers = [("xkey", "gone"), ("Cache-Control", "max-age=60"), ("Location", "/b")]
    stage.origin.plan("/a", .status(status, headers: headers))
    plan(stage, "/b")
    for _ in 0..<2 { _ = try stage.outcome("/a") }
    #expect(stage.origin.count("/a") == 1)
    _ = try purge(#""tag":"gone""#, of: stage)
    _ = try stage.outcome("/a")
    #expect(stage.origin.count("/a") == 2)
  }

  // MARK: Groups

  @Test func `a group is purged with its host, and never by its name alone`() throws {
    let stage = try CoreStage()
    plan(stage, "/a", ("Cache-Groups", #""g", "h";x=1"#))
    plan(stage, "/b", ("Cache-Groups", #""h""#))
    let other = stage.origin.url("/a", host: "other.example")
    for url in [stage.base + "/a", stage.base + "/b", other] {
      try stage.play("> {\"cmd\":\"fetch\",\"url\":\"\(url)\"}\n< {\"ok\":true,\"source\":\"network\"}")
    }
    #expect(try names("tags", stage) == [])
    #expect(try names("groups", stage) == ["g", "h"])
    for filter in [#""tag":"g""#, #""tag":"h","prefix":"ORIGIN/""#, #""tag":"h","host":"no.example""#] {
      #expect(try purge(filter, of: stage) == (0, 0), "\(filter)")
    }
    #expect(try purge(#""tag":"h","host":"127.0.0.1""#, of: stage) == (2, 2))
    #expect(try purge(#""tag":"h","host":"example","prefix":"https://other.example/""#, of: stage) == (0, 0))
    #expect(try purge(#""tag":"h","host":"example""#, of: stage) == (1, 1))
  }

  @Test(arguments: ["memory", "disk"])
  func `an entry that has a tag and a group of that name counts once`(tier: String) throws {
    let stage = try CoreStage(Self.section)
    for path in ["/a", "/b"] { plan(stage, path, ("xkey", "g"), ("Cache-Groups", #""g""#)) }
    for path in ["/a", "/b"] { try stage.fetch(path) }
    try stage.restart()
    if tier == "memory" { for path in ["/a", "/b"] { try stage.fetch(path) } }
    let found = try purge(#""tag":"g","host":"127.0.0.1""#, of: stage)
    #expect(found.disk == 2 && found.memory == (tier == "memory" ? 2 : 0))
    try stage.play(#"> {"cmd":"entries","tier":"disk"}"# + "\n" + #"< {"ok":true,"entries":[]}"#)
  }

  @Test func `groups outlive a restart, and a soft purge marks by them`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Groups", #""g""#), ("Cache-Control", "max-age=99")]))
    try stage.fetch("/a")
    try stage.restart()
    #expect(try names("groups", stage) == ["g"])
    #expect(try purge(#""tag":"g","host":"127.0.0.1","soft":true"#, of: stage) == (0, 1))
    #expect(try stage.outcome("/a") == "revalidated")
    #expect(try purge(#""tag":"g","host":"127.0.0.1""#, of: stage) == (1, 1))
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `the groups of a confirmation come in place of the earlier ones`() throws {
    let stage = try CoreStage()
    let confirm = { (headers: [(String, String)]) in
      stage.origin.plan("/a", .conditional(png(), tag: "\"1\"", headers: headers))
      _ = try stage.outcome("/a", #""cache":"no-cache","tags":["t"]"#)
      return try names("groups", stage)
    }
    #expect(try confirm([("Cache-Groups", #""a", "b""#)]) == ["a", "b"])
    #expect(try confirm([]) == ["a", "b"])
    #expect(try confirm([("Cache-Groups", "broken")]) == ["a", "b"])
    for round in 0..<100 { #expect(try confirm([("Cache-Groups", "\"\(round)\", \"b\"")]) == ["\(round)", "b"]) }
    #expect(try confirm([("Cache-Groups", "")]) == nil)
    #expect(try names("tags", stage) == ["t"])
  }

  @Test func `a form goes with the group of its picture`() throws {
    let stage = try CoreStage()
    plan(stage, "/a", ("Cache-Groups", #""g""#))
    _ = try stage.outcome("/a", #""resize":{"width":8}"#)
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(try purge(#""tag":"g","host":"127.0.0.1""#, of: stage) == (2, 2))
  }

  // MARK: Purges under way

  @Test(arguments: [#""tag":"one""#, #""tag":"g","host":"127.0.0.1""#], [false, true])
  func `what a purge meant while it was on its way is not kept`(filter: String, isConfirmed: Bool) throws {
    let stage = try CoreStage(Self.section)
    let answer = OriginAnswer.conditional(
      png(), tag: "\"1\"", headers: [("xkey", "one"), ("Cache-Groups", #""g""#), ("Cache-Control", "max-age=99")])
    if isConfirmed {
      stage.origin.plan("/a", answer)
      try stage.fetch("/a")
    }
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: answer))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","cache":"no-cache"}"#)
    let found = try purge(filter, of: stage)
    #expect(found.memory == (isConfirmed ? 1 : 0))
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  @Test func `a fresh picture that was purged by a tag which its confirmation brings is gone`() throws {
    let stage = try CoreStage(Self.section)
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("xkey", "old")]),
      .held(at: gate, then: .conditional(png(), tag: "\"1\"", headers: [("xkey", "old new")])))
    #expect(try stage.outcome("/a") == "network")
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","cache":"no-cache"}"#)
    #expect(try purge(#""tag":"new""#, of: stage).memory == 0)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  @Test func `who joins a download after the purge does not hide that from it`() throws {
    let stage = try CoreStage(Self.section)
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png(), headers: [("xkey", "one")])))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    _ = try purge(#""tag":"one""#, of: stage)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/a"}"#)
    gate.open()
    try stage.play("< {\"id\":1,\"ok\":true}\n< {\"id\":2,\"ok\":true}")
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  @Test func `a purge before a transfer begins is not about what it brings`() throws {
    let stage = try CoreStage(Self.section, "Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/first", .held(at: gate, then: .picture(png())))
    plan(stage, "/a", ("xkey", "one"))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/first"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/a"}"#)
    _ = try purge(#""tag":"one""#, of: stage)
    gate.open()
    try stage.play("< {\"id\":1,\"ok\":true}\n< {\"id\":2,\"ok\":true}")
    #expect(try stage.outcome("/a") == "memory")
  }
}
