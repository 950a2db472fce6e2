import ImgdFleet
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Tags of a fetch that is shown what is stored: its entry has them from then on, as if it had been downloaded for it.
struct HitTagTests {
  private static let thumbnail = #""resize":{"width":8,"height":4}"#
  private static let tagged = #","tags":["late"]"#
  private static let hour = [("Cache-Control", "max-age=3600")]

  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    stage.origin.plan("/a", .conditional(png(20_000), tag: "\"1\"", headers: Self.hour))
    return stage
  }

  private func ask(_ fields: String, of stage: CoreStage, _ path: String = "/a") throws -> JSONValue {
    try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url(path))",\#(fields)}"#)
  }

  private func emptyMemory(of stage: CoreStage) throws {
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
  }

  private func tags(_ tier: String, of stage: CoreStage) throws -> [[String]] {
    stage.settle()
    let line = try stage.client.ask(#"{"cmd":"entries","tier":"\#(tier)"}"#)
    return line["entries"]?.array?.map { $0["tags"]?.array?.map { $0.string ?? "" } ?? [] } ?? []
  }

  private func purge(of stage: CoreStage) throws -> [Int] {
    stage.settle()
    let line = try stage.client.ask(#"{"cmd":"purge","tag":"late"}"#)
    return ["memory", "disk"].map { Int(line[$0]?["entries"]?.integer ?? -1) }
  }

  // MARK: Pictures

  @Test(arguments: [
    #""deliver":"none""#, #""deliver":"path""#, #""deliver":"fd""#, #""deliver":"inline""#, #""http":true"#,
    #""cache":"force-cache""#, #""cache":"only-if-cached""#, #""describe":true"#, #""slot":"s""#,
    #""headers":{"If-None-Match":"\"1\""}"#,
  ])
  func `a hit in memory adds its tags in both tiers`(fields: String) throws {
    let stage = try stage()
    _ = try ask(#""deliver":"none""#, of: stage)
    // Then their lines are of a known shape.
    for _ in 0..<3 { #expect(try ask(fields, of: stage)["source"]?.string == "memory") }
    stage.settle()
    for _ in 0..<3 { #expect(try ask(fields + Self.tagged, of: stage)["source"]?.string == "memory") }
    #expect(try tags("memory", of: stage) == [["late"]])
    #expect(try tags("disk", of: stage) == [["late"]])
    try stage.restart()
    #expect(try purge(of: stage) == [0, 1])
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `lines of a known shape are answered without parsing once the picture has their tags`() throws {
    let stage = try stage()
    for _ in 0..<3 { _ = try ask(#""deliver":"none""# + Self.tagged, of: stage) }
    let before = stage.core.parts.hits.count
    for _ in 0..<5 { _ = try ask(#""deliver":"none""# + Self.tagged, of: stage) }
    #expect(stage.core.parts.hits.count == before + 5)
    try emptyMemory(of: stage)
    // The next one has none, and its answer has been prepared.
    _ = try ask(#""deliver":"none","cache":"reload""#, of: stage)
    for _ in 0..<2 { _ = try ask(#""deliver":"none""#, of: stage) }
    #expect(try tags("memory", of: stage) == [[]])
    #expect(try ask(#""deliver":"none""# + Self.tagged, of: stage)["source"]?.string == "memory")
    #expect(try tags("memory", of: stage) == [["late"]])
  }

  @Test(arguments: ["", #","store":"none""#])
  func `a hit on disk adds its tags`(fields: String) throws {
    let stage = try stage()
    _ = try ask(#""deliver":"none""#, of: stage)
    try stage.restart()
    #expect(try ask(#""deliver":"none""# + fields + Self.tagged, of: stage)["source"]?.string == "disk")
    #expect(try tags("disk", of: stage) == [["late"]])
    #expect(try purge(of: stage) == [fields.isEmpty ? 1 : 0, 1])
  }

  @Test func `a hit while the picture is on its way to the disk adds its tags there`() throws {
    let stage = try stage()
    let client = try stage.connect()
    let url = stage.origin.url("/a")
    try client.sendRaw(
      Array(
        (#"{"cmd":"fetch","id":1,"url":"\#(url)","deliver":"none"}"# + "\n"
          + #"{"cmd":"fetch","id":2,"url":"\#(url)","deliver":"none","tags":["late"]}"# + "\n").utf8))
    #expect(try client.receive(2).allSatisfy { $0["ok"] == true })
    #expect(try tags("disk", of: stage) == [["late"]])
  }

  @Test func `who only looks adds nothing`() throws {
    let stage = try stage()
    for _ in 0..<3 { _ = try ask(#""deliver":"none""#, of: stage) }
    for _ in 0..<3 { _ = try ask(#""deliver":"none","cache":"peek""# + Self.tagged, of: stage) }
    #expect(try tags("memory", of: stage) == [[]])
  }

  @Test func `hits cannot give an entry more tags than it may have`() throws {
    let stage = try stage()
    _ = try ask(#""deliver":"none""#, of: stage)
    let bytes = try stage.stats("memory", "bytes")
    for round in 0..<20 {
      let tags = (0..<16).map { "\"\(round).\($0)\"" }.joined(separator: ",")
      _ = try ask(#""deliver":"none","tags":[\#(tags)]"#, of: stage)
      if round == 2 { #expect(try stage.stats("memory", "bytes") > bytes + 48 * 16) }
    }
    try stage.play(#"> {"cmd":"query","url":"ORIGIN/a"}"# + "\n" + #"< {"ok":true,"tags":[],"any_tag":true}"#)
    #expect(try purge(of: stage) == [1, 1])
  }

  @Test(arguments: [#""deliver":"none""#, thumbnail])
  func `a stale picture that is shown has the tags`(fields: String) throws {
    let stage = try stage()
    stage.origin.plan(
      "/a",
      .conditional(
        png(20_000), tag: "\"1\"", headers: [("Cache-Control", "max-age=10, stale-if-error=900")]))
    _ = try ask(fields, of: stage)
    stage.jump(.seconds(20))
    stage.origin.plan("/a", .status(503))
    let line = try ask(fields + Self.tagged, of: stage)
    #expect(line["stale"] == true, "\(line.text)")
    #expect(try tags("memory", of: stage).contains(["late"]))
    #expect(try purge(of: stage)[0] > 0)
    #expect(try ask(#""cache":"only-if-cached""#, of: stage).outcome == "not_cached")
  }

  // MARK: Forms

  @Test(arguments: [false, true], [false, true])
  func `a hit of a form adds its tags to the picture`(formInMemory: Bool, pictureInMemory: Bool) throws {
    let stage = try stage()
    _ = try ask(Self.thumbnail, of: stage)
    stage.settle()
    if !formInMemory || !pictureInMemory { try emptyMemory(of: stage) }
    if formInMemory, !pictureInMemory { _ = try ask(Self.thumbnail, of: stage) }
    if !formInMemory, pictureInMemory { _ = try ask(#""deliver":"none""#, of: stage) }
    for _ in 0..<2 {
      let line = try ask(Self.thumbnail + Self.tagged, of: stage)
      #expect(line["ok"] == true && line["bytes"]?.integer == 500)
    }
    #expect(stage.decoding.orders.count == 1)
    stage.settle()
    try emptyMemory(of: stage)
    #expect(try purge(of: stage) == [0, 2])
    #expect(try ask(#""cache":"only-if-cached""#, of: stage).outcome == "not_cached")
  }

  @Test func `a form that had the tags does not keep them from a picture that came anew`() throws {
    let stage = try stage()
    for _ in 0..<2 { _ = try ask(Self.thumbnail + Self.tagged, of: stage) }
    _ = try ask(#""deliver":"none","cache":"reload""#, of: stage)
    _ = try ask(Self.thumbnail + Self.tagged, of: stage)
    _ = try purge(of: stage)
    #expect(try ask(#""cache":"only-if-cached""#, of: stage).outcome == "not_cached")
  }

  @Test func `a picture whose bytes have gone gets the tags`() throws {
    let stage = try FormsAloneTests().stage()
    #expect(try ask(Self.thumbnail + Self.tagged, of: stage)["source"]?.string == "disk")
    #expect(try tags("disk", of: stage) == [["late"], ["late"]])
    #expect(try purge(of: stage)[1] == 2)
    #expect(try stage.stats("disk", "records") == 0)
  }

  // MARK: Others

  @Test(arguments: [404, 302])
  func `an answer without a picture gets the tags`(status: Int) throws {
    let stage = try stage()
    stage.origin.plan("/b", .status(status, headers: Self.hour + [("Location", "/a")]))
    for _ in 0..<2 { _ = try ask(#""deliver":"none""#, of: stage, "/b") }
    _ = try ask(#""deliver":"none""# + Self.tagged, of: stage, "/b")
    #expect(stage.origin.count("/b") == 1)
    #expect(try purge(of: stage)[0] == (status == 302 ? 2 : 1))
    _ = try ask(#""deliver":"none""#, of: stage, "/b")
    #expect(stage.origin.count("/b") == 2)
    #expect(stage.origin.count("/a") == (status == 302 ? 2 : 0))
  }

  @Test func `a picture of the fleet gets the tags here`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.found(try FleetScene.picture()))
    #expect(try scene.outcome("/a", #""deliver":"none","tags":["late"]"#) == "fleet")
    #expect(try tags("memory", of: scene.stage) == [["late"]])
    #expect(try tags("disk", of: scene.stage) == [["late"]])
  }

  @Test func `a purge while a picture is being confirmed also goes by the tags that it has`() throws {
    let stage = try stage()
    _ = try ask(#""deliver":"none""# + Self.tagged, of: stage)
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .conditional(png(20_000), tag: "\"1\"", headers: Self.hour)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","cache":"no-cache"}"#)
    #expect(try purge(of: stage) == [1, 1])
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
    #expect(try ask(#""cache":"only-if-cached""#, of: stage).outcome == "not_cached")
  }
}
