import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// Stale pictures that are delivered all the same.
struct StaleTests {
  private static let granted = [("Cache-Control", "max-age=0, stale-while-revalidate=1000")]
  private static let fresh = [("Cache-Control", "max-age=1000")]

  @Test(arguments: HitTier.allCases)
  func `a stale picture is delivered at once while it is fetched again`(tier: HitTier) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.granted),
      .held(at: gate, then: .conditional(png(2_000), tag: "\"2\"", headers: Self.fresh)))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "\(tier) stale")
    #expect(stage.origin.count("/a") == 2)
    #expect(try stage.outcome("/a").hasSuffix(" stale"))
    try stage.untilRefreshed { gate.open() }
    let line = try stage.ask("/a")
    #expect(line.outcome == "memory" && line["bytes"]?.integer == 2_000)
    #expect(stage.origin.count("/a") == 2)
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
  }

  @Test(arguments: HitTier.allCases)
  func `fifty simultaneous requests for a stale picture cause one request to the origin`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .picture(png(), headers: Self.granted),
      .held(at: gate, then: .picture(png(), headers: Self.fresh)))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    let clients = try (0..<50).map { _ in try stage.connect() }
    for client in clients { try client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a"}"#) }
    for client in clients {
      #expect(try client.receive()["stale"]?.bool == true)
    }
    #expect(stage.origin.count("/a") == 2)
    try stage.untilRefreshed { gate.open() }
    #expect(try stage.outcome("/a") == "memory")
    #expect(stage.origin.count("/a") == 2)
  }

  /// The failure, and the next answer: a picture that is gone is not delivered again.
  static let failures: [(answer: OriginAnswer, next: String)] = [
    (.fails(.truncated), "memory stale"), (.status(500), "memory stale"),
    (.status(404), "network"), (.body(Array("no".utf8)), "memory stale"),
  ]

  @Test(arguments: failures)
  func `a failure of the background fetch has no effect on clients`(
    answer: OriginAnswer, next: String
  ) throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=0s")
    let gate = Gate()
    stage.origin.plan(
      "/a", .picture(png(), headers: Self.granted), .held(at: gate, then: answer),
      .picture(png(2_000), headers: Self.fresh))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "memory stale")
    try stage.untilRefreshed(as: "failed") { gate.open() }
    #expect(try stage.outcome("/a") == next)
    stage.settle()
    #expect(stage.origin.count("/a") == 3)
    #expect(try stage.ask("/a")["bytes"]?.integer == 2_000)
  }

  @Test func `a picture past its stale time is confirmed first`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .picture(
        png(),
        headers: [
          ("Cache-Control", "max-age=10, stale-while-revalidate=100"), ("Age", "111"),
        ]))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "network")
  }

  // MARK: When the origin fails

  /// The origin's grant, the setting's grant, and whether the stale picture is delivered.
  static let grants: [(control: String, setting: String, isShown: Bool)] = [
    ("max-age=0", "off", false), ("max-age=0", "1h", true),
    ("max-age=0, stale-if-error=1000", "off", true), ("max-age=0, stale-if-error=0", "1h", false),
    ("max-age=0, stale-if-error=1000, must-revalidate", "1h", false),
    ("max-age=0, must-revalidate", "1h", false), ("no-cache", "1h", false),
    ("s-maxage=0", "1h", false), ("max-age=0, proxy-revalidate", "1h", false),
  ]

  @Test(arguments: HitTier.allCases, grants)
  func `a stale picture replaces the answer of a failing origin where that is granted`(
    tier: HitTier, grant: (control: String, setting: String, isShown: Bool)
  ) throws {
    let stage = try CoreStage("HTTP.StaleIfError=\(grant.setting)")
    let failures: [(name: String, answer: OriginAnswer, code: String)] = [
      ("500", .status(500), "http_status"), ("502", .status(502), "http_status"),
      ("503", .status(503), "http_status"), ("504", .status(504), "http_status"),
      ("closed", .fails(.connect), "connect"), ("cut", .fails(.truncated), "truncated"),
      ("silence", .fails(.timeout(.firstByte)), "timeout"), ("nowhere", .fails(.dns), "dns"),
      ("untrusted", .fails(.tls), "tls"),
    ]
    for failure in failures {
      let path = "/" + failure.name
      stage.origin.plan(
        path, .picture(png(), headers: [("Cache-Control", grant.control)]), failure.answer)
      try stage.fetch(path)
    }
    try stage.leave(in: tier)
    for failure in failures {
      let path = "/" + failure.name
      let line = try stage.ask(path)
      if grant.isShown {
        #expect(line.outcome == "\(tier) stale", "\(path)")
      } else {
        #expect(line.outcome == failure.code && line["stale"] == nil, "\(path) \(line.text)")
      }
    }
  }

  @Test(arguments: HitTier.allCases)
  func `a stale picture replaces the answer of an unreachable origin`(tier: HitTier) throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h")
    for (path, control) in [("/a", "max-age=0"), ("/b", "max-age=0, must-revalidate")] {
      stage.origin.plan(
        path, .picture(png(), headers: [("Cache-Control", control)]), .fails(.connect))
      try stage.fetch(path)
    }
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "\(tier) stale")
    #expect(try stage.outcome("/b") == "connect")
  }

  /// The mode of a request, the origin's earlier Cache-Control, and the outcome when the origin
  /// fails.
  static let consents: [(mode: String, control: String, outcome: String)] = [
    ("no-cache", "max-age=1000", "http_status"), ("no-cache", "max-age=0", "http_status"),
    ("no-cache", "max-age=1000, stale-if-error=9", "hit"),
    ("no-cache", "max-age=0, stale-if-error=1000", "hit stale"),
    ("no-cache", "max-age=1000, immutable", "hit"),
    ("no-cache", "max-age=0, immutable", "http_status"),
    ("reload", "max-age=1000, immutable, stale-if-error=1000", "http_status"),
    ("no-store", "max-age=1000, immutable, stale-if-error=1000", "http_status"),
  ]

  @Test(arguments: HitTier.allCases)
  func `a request for the origin's confirmation gets a stale picture only if the origin allows it`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h")
    for (number, row) in Self.consents.enumerated() {
      let path = "/\(number)"
      stage.origin.plan(
        path, .picture(png(), headers: [("Cache-Control", row.control)]), .status(500))
      try stage.fetch(path)
      try stage.leave(in: tier)
      let wanted =
        row.outcome.hasPrefix("hit") ? tier.rawValue + row.outcome.dropFirst(3) : row.outcome
      #expect(try stage.outcome(path, #""cache":"\#(row.mode)""#) == wanted, "\(row)")
    }
  }

  /// The time may be the client's own, or the server's for any download.
  @Test(arguments: HitTier.allCases, [("", "1s"), (#""timeout_ms":300"#, "60s")])
  func `a stale picture is delivered when the time is over`(
    tier: HitTier, time: (fields: String, setting: String)
  ) throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h", "Downloads.Timeout=\(time.setting)")
    for (path, control) in [("/a", "max-age=0"), ("/b", "max-age=0, must-revalidate")] {
      stage.origin.plan(
        path, .picture(png(), headers: [("Cache-Control", control)]), .silence)
      try stage.fetch(path)
    }
    try stage.leave(in: tier)
    for (path, outcome) in [("/a", "\(tier) stale"), ("/b", "timeout")] {
      let fields = time.fields.isEmpty ? "" : "," + time.fields
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN\#(path)"\#(fields)}"#)
      stage.pass(.seconds(1))
      #expect(try stage.client.receive().outcome == outcome)
    }
  }

  /// A request shares its transfer with another that accepts only the network's answer.
  @Test func `each request gets its allowed answer when the origin fails`() throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h")
    let gate = Gate()
    stage.origin.plan(
      "/a", .picture(png(), headers: [("Cache-Control", "max-age=0")]),
      .held(at: gate, then: .status(500)))
    try stage.fetch("/a")
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","cache":"reload"}"#)
    #expect(gate.arrivals == 1)
    try stage.begin(#"{"cmd":"fetch","id":2,"url":"ORIGIN/a"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":false,"error":{"code":"http_status"}}
      < {"id":2,"ok":true,"source":"memory","stale":true,"coalesced":true}
      """#)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: [400, 401, 403, 404, 410, 501])
  func `an answer about the picture does not count as a failure of the origin`(status: Int) throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h")
    stage.origin.plan(
      "/a", .picture(png(), headers: [("Cache-Control", "max-age=0, stale-if-error=1000")]),
      .status(status))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "http_status")
  }

  /// A picture that its origin has taken down is not delivered for ever, even if it may be stale.
  @Test(arguments: HitTier.allCases, [404, 410])
  func `a picture that is gone at the origin is removed`(tier: HitTier, status: Int) throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=0s")
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]),
      .status(status))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "http_status")
    #expect(try stage.tier(of: "/a") == "none")
    #expect(try stage.outcome("/a", #""cache":"force-cache""#) == "http_status")
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    #expect(try stage.stats("disk", "entries") == 0)
  }

  @Test func `an error caused by one client's headers does not affect other clients`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()), .status(404))
    try stage.fetch("/a")
    let refused = #""headers":{"Accept-Language":"tlh"},"cache":"reload""#
    #expect(try stage.outcome("/a", refused) == "http_status")
    #expect(try stage.outcome("/a") == "memory")
  }
}

extension CoreStage {
  /// Lets a fetch in the background go on, and returns when it is over.
  fileprivate func untilRefreshed(as state: String = "done", _ letGo: () -> Void) throws {
    let listener = try connect()
    try play(
      #"""
      > {"cmd":"subscribe","events":["jobs"]}
      < {"ok":true}
      """#, on: listener)
    letGo()
    try play(
      #"""
      < {"event":"job","state":"\#(state)"}
      """#, on: listener)
  }
}
