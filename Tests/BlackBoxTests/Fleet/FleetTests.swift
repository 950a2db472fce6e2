import ImgdTestSupport
import ImgdWire
import Testing

/// Ten hosts with one redis-server.
@Suite("A fleet") struct FleetTests {
  @Test func `asks an origin once for ten hosts`() throws {
    let stage = try FleetStage()
    let url = stage.pictures.add("/a")
    let gate = Gate()
    let picture = VersionedPictures.answer("/a", 1)
    stage.origin.plan("/a", .held(at: gate, then: picture), picture)
    let request = FleetHost.request(url, VersionedPictures.inside)
    for host in stage.hosts { try host.client.send(request) }
    #expect(gate.waitUntilReached())
    gate.open()
    let answers = try stage.hosts.map { try $0.client.receive() }
    for answer in answers { #expect(try stage.pictures.version(of: "/a", in: answer) == 1) }
    #expect(Self.sources(answers) == ["fleet": 9, "network": 1])
    #expect(stage.origin.count("/a") == 1)

    #expect(Self.sources(try stage.fetchAll(url)) == ["memory": 10])
    for host in stage.hosts { try host.emptyOwnTiers() }
    #expect(Self.sources(try stage.fetchAll(url)) == ["fleet": 10])
    #expect(stage.origin.count("/a") == 1)
    let counts = try stage.hosts.map { try ($0.count("hits"), $0.count("stores")) }
    #expect(counts.map(\.0).reduce(0, +) == 19)
    #expect(counts.map(\.1).reduce(0, +) == 1)
  }

  @Test func `shows a picture with its age, and from the nearest tier`() throws {
    let stage = try FleetStage(hosts: 2)
    let bytes = TestPicture.png(bytes: 2_000)
    stage.origin.plan(
      "/old", .picture(bytes, headers: [("Cache-Control", "max-age=3600"), ("Age", "100")]))
    let url = stage.origin.url("/old")
    _ = try stage.hosts[0].fetch(url)
    try stage.awaitStored(1, by: stage.hosts[0])
    let found = try stage.hosts[1].fetch(url)
    #expect(found.outcome == "fleet")
    let age = try #require(found["age"]?.integer)
    #expect((100..<160).contains(age))
    // Both are whole seconds of what lies in between.
    #expect([3_599 - age, 3_600 - age].contains(found["fresh_for"]?.integer ?? 0))
    #expect(try stage.hosts[1].fetch(url).outcome == "memory")
    try stage.hosts[1].purge(#""tier":"memory""#)
    #expect(try stage.hosts[1].fetch(url).outcome == "disk")
    #expect(stage.origin.count("/old") == 1)
  }

  /// Purges of before its start are known again, so that it can tell what they mean.
  @Test func `is of use to a host that was started again, though nothing is purged since`() throws {
    let stage = try FleetStage(hosts: 2)
    let urls = ["/a", "/b"].map { stage.pictures.add($0) }
    _ = try stage.hosts[0].fetch(urls[0])
    try stage.hosts[0].purge(#""prefix":"\#(urls[1])""#)
    _ = try stage.hosts[0].fetch(urls[1])
    try stage.awaitStored(2, by: stage.hosts[0])
    try stage.catchUp()
    stage.hosts[1].kill()
    try stage.hosts[1].start()
    try stage.awaitAll()
    for url in urls { #expect(try stage.hosts[1].fetch(url).outcome == "fleet") }
    #expect(stage.origin.count("/a") == 1 && stage.origin.count("/b") == 1)
  }

  @Test func `keeps to what a request wants to be stored`() throws {
    let stage = try FleetStage(hosts: 2)
    let url = stage.pictures.add("/a")
    _ = try stage.hosts[0].fetch(url, #""store":"local""#)
    #expect(try stage.hosts[1].fetch(url, #""cache":"only-if-cached""#).outcome == "not_cached")
    _ = try stage.hosts[0].fetch(url, #""store":"fleet","cache":"reload""#)
    try stage.awaitStored(1, by: stage.hosts[0])
    for _ in 0..<2 {
      #expect(try stage.hosts[1].fetch(url, #""store":"fleet""#).outcome == "fleet")
    }
    #expect(try stage.hosts[1].tier(of: url) == "none")
    #expect(
      try stage.hosts[1].fetch(url, #""cache":"only-if-cached""#).outcome == "fleet")
    #expect(stage.origin.count("/a") == 2)
  }

  /// Confirmed by one host, it is fresh for all of them.
  @Test func `has a stale picture confirmed once`() throws {
    let stage = try FleetStage(hosts: 3)
    let bytes = TestPicture.png(bytes: 2_000)
    stage.origin.plan(
      "/a", .conditional(bytes, tag: #""1""#, headers: [("Cache-Control", "max-age=3600")]))
    let url = stage.origin.url("/a")
    _ = try stage.hosts[0].fetch(url)
    try stage.awaitStored(1, by: stage.hosts[0])
    try stage.hosts[0].purge(#""url":"\#(url)","soft":true"#)
    try stage.catchUp()
    let confirmed = try stage.hosts[1].fetch(url)
    #expect(confirmed["ok"] == .bool(true))
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == #""1""#)
    #expect(stage.origin.count("/a") == 2)
    try stage.awaitStored(1, by: stage.hosts[1])
    #expect(try stage.hosts[2].fetch(url).outcome == "fleet")
    #expect(stage.origin.count("/a") == 2)
  }

  private static func sources(_ answers: [JSONValue]) -> [String: Int] {
    Dictionary(grouping: answers, by: \.outcome).mapValues(\.count)
  }
}
