import ImgdTestSupport
import ImgdWire
import Testing

/// Servers that hang or drip, beside a client that wants a picture from another one.
struct SlowServerTests {
  private func stage(_ answer: OriginAnswer) throws -> CoreStage {
    let stage = try CoreStage("Disk.Enabled=no", "Downloads.Timeout=1h", "Downloads.IdleTimeout=1h")
    stage.origin.plan("/dead", answer)
    stage.origin.plan("/live", .picture(png()))
    return stage
  }

  private func askForDead(_ count: Int, hosts: Int, _ stage: CoreStage) throws {
    let lines = (0..<count).map { number in
      let url = stage.origin.url("/dead?\(number)", host: "h\(number % hosts).example.org")
      return #"{"cmd":"fetch","id":\#(number),"url":"\#(url)"}"#
    }
    for number in 0..<count { stage.origin.plan("/dead?\(number)", .silence) }
    try stage.client.send(lines.joined(separator: "\n"))
    stage.settle()
  }

  @Test(arguments: [4, 40, 400], [1, 20, 400])
  func `a live picture is fetched at once beside dead URLs, at any time`(
    count: Int, hosts: Int
  ) throws {
    let stage = try stage(.silence)
    try askForDead(count, hosts: hosts, stage)
    for _ in 0..<8 {
      let other = try stage.connect()
      let line = try stage.fetch("/live", on: other)
      #expect(line["source"] == .string("network"))
      _ = try other.ask(#"{"cmd":"purge"}"#)
      stage.pass(.milliseconds(1_500))
    }
    #expect(try stage.stats("downloads", "active") <= 8 * 32)
  }

  @Test func `the client of the dead URLs is served as well, a second later`() throws {
    let stage = try stage(.silence)
    try askForDead(400, hosts: 20, stage)
    try stage.begin(#"{"cmd":"fetch","id":"live","url":"ORIGIN/live"}"#)
    #expect(stage.origin.count("/live") == 0)
    stage.pass(.milliseconds(1_250))
    #expect(stage.origin.count("/live") == 1, "its host is not among those that hang")
    try stage.play(#"< {"id":"live","ok":true}"#)
    stage.pass(.seconds(5))
    #expect(try stage.stats("downloads", "active") == 80)
    #expect(try stage.stats("downloads", "slow") == 80)
    #expect(try stage.stats("downloads", "queued") == 320)
  }

  @Test func `nothing is slow while nothing waits`() throws {
    let stage = try stage(.silence)
    try askForDead(20, hosts: 20, stage)
    stage.pass(.seconds(60))
    #expect(try stage.stats("downloads", "slow") == 0)
  }

  @Test func `five hundred pictures of one client delay another's by one transfer`() throws {
    let stage = try CoreStage("Disk.Enabled=no", "Downloads.MaxActive=1")
    let gates = (0..<500).map { _ in Gate() }
    for (number, gate) in gates.enumerated() {
      stage.origin.plan("/\(number)", .held(at: gate, then: .picture(png())))
      try stage.client.send(#"{"cmd":"fetch","id":\#(number),"url":"\#(stage.base)/\#(number)"}"#)
    }
    stage.settle()
    stage.pass(.seconds(20))
    stage.origin.plan("/other", .picture(png()))
    let other = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":"other","url":"ORIGIN/other"}"#, on: other)
    gates[0].open()
    try stage.play(#"< {"id":"other","ok":true}"#, on: other)
    #expect(stage.origin.requests.map(\.path).prefix(3) == ["/0", "/other", "/1"])
  }
}
