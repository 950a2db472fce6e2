import ImgdTestSupport
import ImgdWire
import Testing

/// A picture that was fetched with credentials is delivered only with the same credentials.
struct CredentialTests {
  private static let mine = #""headers":{"Authorization":"mine"}"#
  private static let other = #""headers":{"Authorization":"other"}"#

  @Test(arguments: [
    "max-age=1000", "max-age=1000, private", "max-age=1000, public, private",
    "max-age=1000, proxy-revalidate",
  ])
  func `a picture with credentials is kept only in memory and only for the same credentials`(
    control: String
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", control)]))
    let line = try stage.ask("/a", Self.mine)
    #expect(line["path"] == .null)
    #expect(line["deliver_note"]?.string?.contains("credentials") == true)
    #expect(try stage.outcome("/a", Self.mine) == "memory")
    #expect(try stage.outcome("/a", Self.other) == "network")
    #expect(try stage.tier(of: "/a") == "none")
    #expect(stage.files.count == 0)
    #expect(try stage.outcome("/a") == "network")
    #expect(
      stage.origin.requests("/a").map { $0.header("authorization") } == [
        "mine", "other", nil,
      ])
    try stage.leave(in: .disk)
    #expect(try stage.outcome("/a", Self.mine) == "network")
  }

  @Test func `a picture without credentials is not delivered to a request with some`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    try stage.fetch("/a")
    #expect(try stage.ask("/a", Self.mine)["bytes"]?.integer == 2_000)
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    try stage.leave(in: .disk)
    #expect(try stage.ask("/a", Self.mine).outcome == "network")
  }

  @Test func `no-store applies to pictures with credentials`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "no-store")]))
    try stage.ask("/a", Self.mine)
    #expect(try stage.outcome("/a", Self.mine) == "network")
  }

  @Test func `a picture is confirmed with the credentials that it was fetched with`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]))
    try stage.ask("/a", Self.mine)
    #expect(try stage.outcome("/a", Self.mine) == "revalidated")
    #expect(try stage.outcome("/a", Self.other) == "network")
    let requests = stage.origin.requests("/a")
    #expect(requests.map { $0.header("authorization") } == ["mine", "mine", "other"])
    #expect(requests.map { $0.header("if-none-match") } == [nil, "\"1\"", nil])
    #expect(stage.files.count == 0)
  }

  @Test func `a purge by URL removes a picture with credentials`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.ask("/a", Self.mine)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true,"removed":true,"memory":{"entries":1}}
      """#)
    #expect(try stage.outcome("/a", Self.mine) == "network")
  }
}
