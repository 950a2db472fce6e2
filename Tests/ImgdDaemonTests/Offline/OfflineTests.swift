import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// A machine without a route: what waits, what goes on, and what happens when there is one again.
struct OfflineTests {
  /// A core with pictures at the paths `/a`, `/b` and `/c` of every host.
  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(["Disk.Enabled=no"] + settings)
    for path in ["/a", "/b", "/c"] { stage.origin.plan(path, .picture(png())) }
    return stage
  }

  // MARK: Waiting

  @Test("a miss waits for the network, and is delivered when there is a route")
  func miss() throws {
    let stage = try stage()
    stage.goOffline()
    try stage.begin(stage.line("/a"))
    stage.pass(.seconds(30))
    #expect(stage.origin.requests.isEmpty)
    stage.goOnline()
    #expect(try stage.client.receive().outcome == "network")
  }

  @Test("who waits is told why: by an event, in lists, and when the time is over")
  func reasons() throws {
    let stage = try stage()
    stage.goOffline()
    try stage.client.send(stage.line("/a", #","events":true,"timeout_ms":5000"#))
    let event = try stage.client.receive()
    #expect(event["event"] == .string("queued") && event["phase"] == .string("offline"))
    let jobs = try stage.connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array ?? []
    #expect(jobs.map { $0["phase"] } == [.string("offline")])
    stage.pass(.seconds(5))
    let line = try stage.client.receive()
    #expect(line.failureCode == "timeout")
    #expect(line["error"]?["details"]?["phase"] == .string("offline"))
    #expect(line.failureMessage.contains("no route leads to far.example"))
  }

  @Test("without a time of its own a request waits for as long as a download may take")
  func usualTime() throws {
    let stage = try stage("Downloads.Timeout=7s")
    stage.goOffline()
    try stage.begin(stage.line("/a"))
    stage.pass(.milliseconds(6_900))
    #expect(try stage.client.receiveNow() == nil)
    stage.pass(.milliseconds(200))
    #expect(try stage.client.receive().failureCode == "timeout")
  }

  @Test("when there is a route, a transfer has all of its time")
  func freshTime() throws {
    let stage = try stage("Downloads.Timeout=7s")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    stage.goOffline()
    try stage.begin(stage.line("/a"))
    stage.pass(.seconds(6))
    stage.goOnline()
    stage.pass(.seconds(6))
    gate.open()
    #expect(try stage.client.receive().outcome == "network")
  }

  @Test("what waits in the queue when the network goes is told, and waits")
  func queued() throws {
    let stage = try stage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(stage.line("/a"))
    let other = try stage.connect()
    try other.send(stage.line("/b", #","events":true"#))
    #expect(try other.receive()["phase"] == nil)
    stage.goOffline()
    #expect(try other.receive()["phase"] == .string("offline"))
    // What runs goes on.
    gate.open()
    #expect(try stage.client.receive().outcome == "network")
    stage.settle()
    #expect(stage.origin.count("/b") == 0)
    stage.goOnline()
    #expect(try other.receive()["event"] == .string("started"))
    #expect(try other.receive().outcome == "network")
  }

  @Test("what waited starts in its order, over however many hosts")
  func order() throws {
    let stage = try stage("Downloads.MaxActive=4")
    stage.goOffline()
    let hosts = (0..<200).map { "h\($0).example" }
    try stage.begin(stage.line("/b", #","priority":"low""#))
    for host in hosts { try stage.begin(stage.line("/a", host: host)) }
    try stage.begin(stage.line("/c", #","priority":"high""#))
    stage.goOnline()
    _ = try stage.client.receive(202)
    let asked = stage.origin.requests.map { $0.header("host") ?? "" }
    #expect(asked.first == "far.example:8080" && stage.origin.requests.first?.path == "/c")
    #expect(asked.dropFirst().dropLast() == hosts.map { $0 + ":8080" }[...])
    #expect(stage.origin.requests.last?.path == "/b")
  }

  @Test("a network that comes and goes while hosts are gone through ends where it ends")
  func flaps() throws {
    let stage = try stage()
    stage.goOffline()
    for number in 0..<300 { try stage.begin(stage.line("/a", host: "h\(number).example")) }
    for flap in 0..<20 {
      stage.core.changeNetwork(isOffline: flap % 2 == 1)
      stage.tick()
    }
    stage.settle()
    #expect(stage.origin.running == 0)
    let before = stage.origin.requests.count
    stage.settle()
    #expect(stage.origin.requests.count == before)
    stage.goOnline()
    #expect(try stage.client.receive(300).allSatisfy { $0.outcome == "network" })
  }

  // MARK: What goes on

  @Test(
    "this machine and its links are reached without a route",
    arguments: [
      "127.0.0.1", "127.9.9.9", "localhost", "pictures.localhost", "[::1]", "169.254.3.4", "[fe80::1]",
      "[febf::1]",
    ])
  func near(host: String) throws {
    let stage = try stage()
    stage.goOffline()
    #expect(try stage.client.ask(stage.line("/a", host: host)).outcome == "network")
  }

  @Test(
    "others are not", arguments: ["localhost.example", "127.example", "10.0.0.1", "[fec0::1]", "[2001:db8::1]"])
  func far(host: String) throws {
    let stage = try stage()
    stage.goOffline()
    let line = try stage.client.ask(stage.line("/a", #","wait_online":false"#, host: host))
    #expect(line.failureCode == "offline")
  }

  @Test("behind a proxy its host decides, also after a reload")
  func proxy() throws {
    let stage = try stage("Network.Proxy=http://127.0.0.1:3128")
    stage.goOffline()
    #expect(try stage.client.ask(stage.line("/a")).outcome == "network")
    try stage.apply("Network.Proxy=http://proxy.example:3128")
    let refused = try stage.client.ask(
      stage.line("/b", #","wait_online":false"#, host: "127.0.0.1"))
    #expect(refused.failureCode == "offline")
    try stage.begin(stage.line("/b"))
    try stage.apply("Network.Proxy=none")
    #expect(stage.origin.count("/b") == 0)
    stage.goOnline()
    #expect(try stage.client.receive().outcome == "network")
  }

  // MARK: wait_online

  @Test("a request that does not wait fails at once, and may be made again")
  func noWaiting() throws {
    let stage = try stage()
    stage.goOffline()
    let line = try stage.client.ask(stage.line("/a", #","wait_online":false"#))
    #expect(line.failureCode == "offline")
    #expect(line["error"]?["retryable"] == .bool(true))
    #expect(line["error"]?["details"]?["host"] == .string("far.example"))
    #expect(stage.origin.requests.isEmpty)
    #expect(try stage.stats("failures", "entries") == 0)
    stage.goOnline()
    #expect(try stage.client.ask(stage.line("/a", #","wait_online":false"#)).outcome == "network")
  }

  @Test("of two that share a download each leaves on its own when the network goes")
  func sharing() throws {
    let stage = try stage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(stage.line("/a", host: "127.0.0.1"))
    let (patient, hasty) = (try stage.connect(), try stage.connect())
    try stage.begin(stage.line("/b", #","wait_online":false"#), on: hasty)
    try stage.begin(stage.line("/b"), on: patient)
    stage.goOffline()
    #expect(try hasty.receive().failureCode == "offline")
    #expect(try stage.stats("downloads", "queued") == 1)
    gate.open()
    stage.goOnline()
    #expect(try patient.receive().outcome == "network")
    #expect(stage.origin.count("/b") == 1)
  }

  @Test("a transfer of one that does not wait goes on when the network goes, and is not made again")
  func hastyTransfer() throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .fails(.connect)))
    let (patient, hasty) = (try stage.connect(), try stage.connect())
    try stage.begin(stage.line("/a", #","wait_online":false"#), on: hasty)
    try stage.begin(stage.line("/a"), on: patient)
    stage.goOffline()
    #expect(try hasty.receiveNow() == nil)
    gate.open()
    #expect(try hasty.receive().failureCode == "offline")
    stage.origin.plan("/a", .picture(png()))
    stage.goOnline()
    #expect(try patient.receive().outcome == "network")
  }

  // MARK: Interruptions

  @Test(
    "a transfer that breaks off with the network is made again, and nothing is remembered",
    arguments: [
      TransferFailure.Kind.dns, .connect, .tls, .timeout(.connect), .truncated,
    ])
  func interruption(kind: TransferFailure.Kind) throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .fails(kind)), .picture(png()))
    try stage.client.send(stage.line("/a", #","events":true"#))
    #expect(try stage.client.receive(2).map { $0["event"]?.string } == ["queued", "started"])
    stage.goOffline()
    gate.open()
    #expect(try stage.client.receive()["phase"] == .string("offline"))
    #expect(try stage.stats("downloads", "failed") == 0)
    #expect(try stage.stats("network", "interrupted") == 1)
    #expect(try stage.stats("failures", "entries") == 0)
    stage.goOnline()
    #expect(try stage.client.receive()["event"] == .string("started"))
    #expect(try stage.client.receive().outcome == "network")
  }

  @Test("an answer is an answer, and a failure online a failure")
  func failures() throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .status(404)))
    stage.origin.plan("/b", .fails(.dns))
    try stage.begin(stage.line("/a"))
    stage.goOffline()
    gate.open()
    #expect(try stage.client.receive().failureCode == "http_status")
    stage.goOnline()
    #expect(try stage.client.ask(stage.line("/b")).failureCode == "dns")
  }

  @Test("an interrupted fetch comes before what its connection asked for later")
  func place() throws {
    let stage = try stage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .fails(.connect)), .picture(png()))
    try stage.begin(stage.line("/a"))
    try stage.begin(stage.line("/b"))
    stage.goOffline()
    gate.open()
    stage.settle()
    stage.goOnline()
    _ = try stage.client.receive(2)
    #expect(stage.origin.requests.map(\.path) == ["/a", "/a", "/b"])
  }

  @Test("a name that was unknown is asked for again once the network has come or gone")
  func unknownName() throws {
    let stage = try stage()
    stage.origin.plan("/a", .fails(.dns), .picture(png()))
    #expect(try stage.client.ask(stage.line("/a")).outcome == "dns")
    #expect(try stage.client.ask(stage.line("/a")).outcome == "dns cached")
    stage.goOffline()
    stage.goOnline()
    #expect(try stage.client.ask(stage.line("/a")).outcome == "network")
  }

  @Test("statistics say so, and how often")
  func statistics() throws {
    let stage = try stage()
    stage.goOffline()
    stage.goOnline()
    stage.goOffline()
    let network = try stage.client.ask(#"{"cmd":"stats"}"#)["network"]
    #expect(network?["offline"] == .bool(true))
    #expect(network?["outages"] == .integer(2))
    #expect(stage.core.statusText.contains("offline"))
  }
}

extension CoreStage {
  /// Takes the last route away.
  func goOffline() {
    core.changeNetwork(isOffline: true)
    settle()
  }

  func goOnline() {
    core.changeNetwork(isOffline: false)
    settle()
  }

  /// A fetch of a path at a host that only a route leads to.
  func line(_ path: String, _ options: String = "", host: String = "far.example") -> String {
    #"{"cmd":"fetch","url":"\#(origin.url(path, host: host))"\#(options)}"#
  }
}
