import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// A missing picture is not requested again and again.
struct NegativeTests {
  @Test(arguments: [404, 410])
  func `a missing picture is requested once`(status: Int) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(status))
    #expect(try stage.outcome("/a") == "http_status")
    for cache in ["default", "force-cache"] {
      let line = try stage.ask("/a", #""cache":"\#(cache)""#)
      #expect(line.outcome == "http_status cached")
      #expect(line["error"]?["details"]?["status"]?.integer == Int64(status))
    }
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "http_status cached")
    #expect(stage.origin.count("/a") == 1)
    stage.jump(.seconds(61))
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  /// The missing picture's headers, the setting, and whether the failure is remembered.
  static let lifetimes: [(control: String, setting: String, isRemembered: Bool)] = [
    ("max-age=1000", "60s", true), ("max-age=0", "60s", false), ("no-store", "60s", false),
    ("no-cache", "60s", false), ("private", "60s", false), ("max-age=1000", "0s", true),
    ("public", "0s", false), ("public", "60s", true), ("s-maxage=0, max-age=1000", "60s", false),
    ("max-age=junk", "60s", false),
  ]

  @Test(arguments: lifetimes)
  func `the origin and the configuration decide how long a failure is remembered`(
    control: String, setting: String, isRemembered: Bool
  ) throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=\(setting)")
    stage.origin.plan("/a", .status(404, headers: [("Cache-Control", control)]))
    try stage.ask("/a")
    #expect(try stage.outcome("/a") == (isRemembered ? "http_status cached" : "http_status"))
    #expect(stage.origin.count("/a") == (isRemembered ? 1 : 2))
  }

  @Test(
    arguments: [([], 60), ([("Cache-Control", "max-age=20")], 20)] as [([(String, String)], Int)])
  func `a failure is requested again when its time is over`(
    headers: [(String, String)], seconds: Int
  ) throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a", .status(404, headers: headers))
    #expect(try stage.outcome("/a") == "http_status")
    stage.jump(.seconds(seconds) - .nanoseconds(1))
    #expect(try stage.outcome("/a") == "http_status cached")
    stage.jump(.nanoseconds(1))
    #expect(try stage.outcome("/a") == "http_status")
  }

  @Test(arguments: ["reload", "no-cache", "no-store"])
  func `a request for the network's answer ignores a remembered failure`(cache: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404), .picture(png()))
    #expect(try stage.outcome("/a") == "http_status")
    #expect(try stage.outcome("/a", #""cache":"\#(cache)""#) == "network")
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: ["reload", "no-cache"])
  func `a remembered failure does not hide a stored picture`(cache: String) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .status(404), .picture(png(), headers: [("Cache-Control", "max-age=0")]))
    #expect(try stage.outcome("/a") == "http_status")
    #expect(try stage.outcome("/a", #""cache":"\#(cache)""#) == "network")
    #expect(try stage.outcome("/a") == "network")
    try stage.play("> {\"cmd\":\"purge\",\"tier\":\"disk\"}\n< {\"ok\":true}")
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `no-store leaves no failure to remember`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404))
    for _ in 0..<2 { #expect(try stage.outcome("/a", #""cache":"no-store""#) == "http_status") }
    #expect(try stage.outcome("/a") == "http_status")
    #expect(stage.origin.count("/a") == 3)
  }

  @Test(arguments: [
    #""url":"ORIGIN/a""#, #""prefix":"ORIGIN/""#, #""host":"127.0.0.1""#, #""tier":"all""#,
    #""tier":"memory""#,
  ])
  func `a purge removes a remembered failure`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404), .picture(png()))
    try stage.ask("/a")
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true}
      """#)
    #expect(try stage.outcome("/a") == "network")
  }

  @Test(arguments: [#""url":"ORIGIN/b""#, #""tag":"t""#, #""tier":"disk""#])
  func `a purge of another URL keeps a remembered failure`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404))
    try stage.ask("/a")
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true}
      """#)
    #expect(try stage.outcome("/a") == "http_status cached")
  }

  @Test func `another identifier and other headers are requested separately`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404))
    try stage.ask("/a")
    #expect(try stage.outcome("/a", #""identifier":"x""#) == "http_status")
    #expect(try stage.outcome("/a", #""headers":{"X-Token":"1"}"#) == "http_status")
    #expect(try stage.outcome("/a", #""headers":{"Authorization":"1"}"#) == "http_status")
    #expect(stage.origin.count("/a") == 4)
  }

  @Test func `a remembered failure is answered like the first one`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: [("X-Why", "gone fishing")]))
    let first = try stage.ask("/a", #""http":true"#)
    let second = try stage.ask("/a", #""http":true"#)
    #expect(second.outcome == "http_status cached")
    #expect(second["http"]?["status"]?.integer == 404)
    #expect(second.header("x-why") == "gone fishing")
    #expect(first["http"] == second["http"])
  }

  @Test func `a name that does not resolve is looked up once in a while`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .fails(.dns))
    let request = #"{"cmd":"fetch","url":"http://nope.invalid/a"}"#
    let first = try stage.client.ask(request)
    #expect(first.outcome == "dns", "\(first.text)")
    stage.jump(.seconds(4))
    #expect(try stage.client.ask(request).outcome == "dns cached")
    #expect(try stage.stats("downloads", "started") == 1)
    stage.jump(.seconds(1))
    #expect(try stage.client.ask(request).outcome == "dns")
  }

  @Test func `a name that was found since is no longer unknown`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .fails(.dns), .picture(png(), headers: [("Cache-Control", "no-store")]))
    #expect(try stage.outcome("/a") == "dns")
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "network")
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `a name is looked up again where no failure is remembered`() throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=0s")
    stage.origin.plan("/a", .fails(.dns))
    for _ in 0..<2 {
      #expect(
        try stage.client.ask(#"{"cmd":"fetch","url":"http://nope.invalid/a"}"#).outcome == "dns")
    }
  }
}
