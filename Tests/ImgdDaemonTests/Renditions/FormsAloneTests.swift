import ImgdFleet
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Forms of pictures whose bytes have gone from disk.
struct FormsAloneTests {
  static let thumbnail = #""resize":{"width":8,"height":4}"#
  static let other = #""resize":{"width":6,"height":3}"#
  static let hour = [("Cache-Control", "max-age=3600")]

  /// A stage on which forms of `/a` were made, and then its bytes have gone.
  func stage(
    _ headers: [(String, String)] = hour, fields: String = "", forms: [String] = [thumbnail],
    _ settings: String...
  ) throws -> CoreStage {
    let stage = try CoreStage(settings + ["Disk.TrimTo=100%"])
    stage.origin.plan("/a", .conditional(png(20_000), tag: "\"1\"", headers: headers))
    for form in forms { #expect(try ask(form + fields, of: stage)["ok"] == true) }
    try shed(stage, forms: forms.count)
    return stage
  }

  private func shed(_ stage: CoreStage, forms: Int) throws {
    try stage.apply("Disk.Capacity=\(1_024 + 4_096 * forms)")
    stage.settle()
    #expect(try stage.stats("disk", "records") == 1)
    #expect(stage.files.count == forms)
    try stage.apply("Disk.Capacity=150M")
    try emptyMemory(of: stage)
  }

  private func emptyMemory(of stage: CoreStage) throws {
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
  }

  func ask(_ fields: String = #""priority":"normal""#, of stage: CoreStage) throws
    -> JSONValue
  {
    try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/a"))",\#(fields)}"#)
  }

  func conditions(_ stage: CoreStage) -> [Bool] {
    stage.origin.requests("/a").map { $0.header("if-none-match") != nil }
  }

  // MARK: Fresh

  @Test func `a form is shown from disk without a look at the origin, also after a restart`() throws {
    let stage = try stage()
    for _ in 0..<2 {
      let line = try ask(Self.thumbnail, of: stage)
      #expect(line["source"]?.string == "disk" && line["bytes"]?.integer == 500)
      #expect(line["fresh_for"]?.integer ?? 0 > 3_000)
      #expect(readBytes(line["path"]?.string ?? "")?.count == 500)
      try emptyMemory(of: stage)
      try stage.restart()
      try emptyMemory(of: stage)
    }
    #expect(stage.origin.count("/a") == 1 && stage.decoding.orders.count == 1)
  }

  @Test(arguments: ["only-if-cached", "force-cache", "peek"])
  func `who does not want the origin to be asked gets the form, but not the picture`(mode: String)
    throws
  {
    let stage = try stage()
    stage.pass(.seconds(4_000))
    let line = try ask(#"\#(Self.thumbnail),"cache":"\#(mode)""#, of: stage)
    #expect(line["ok"] == true && line["stale"] == true && line["bytes"]?.integer == 500)
    if mode != "force-cache" {
      #expect(try ask(#""cache":"\#(mode)""#, of: stage).outcome == "not_cached")
      #expect(try ask(#"\#(Self.other),"cache":"\#(mode)""#, of: stage).outcome == "not_cached")
    }
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `an answer that depends on the request is found with its forms`() throws {
    let stage = try stage([("Cache-Control", "max-age=3600"), ("Vary", "Accept"), ("Age", "10")])
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "disk")
    stage.pass(.seconds(3_600))
    try emptyMemory(of: stage)
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "revalidated")
    #expect(conditions(stage) == [false, true] && stage.decoding.orders.count == 1)
  }

  @Test func `the placeholder that was made stays with what is known`() throws {
    let stage = try stage(fields: #","describe":true"#)
    let line = try ask(Self.thumbnail + #","describe":true"#, of: stage)
    #expect(line["source"]?.string == "disk" && line["thumbhash"] != nil)
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a","describe":true}
      < {"ok":true,"tier":"disk","thumbhash":"…","body":false}
      """#)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a placeholder that was not made needs the bytes`() throws {
    let stage = try stage()
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a","describe":true}
      < {"ok":true,"tier":"disk","body":false}
      """#)
    let line = try ask(Self.thumbnail + #","describe":true"#, of: stage)
    #expect(line["thumbhash"] != nil && conditions(stage) == [false, false])
  }

  @Test func `a client that has the picture is told so, and another gets the form`() throws {
    let stage = try stage()
    let known = #","headers":{"If-None-Match":"\"1\""}"#
    #expect(try ask(Self.thumbnail + known, of: stage)["not_modified"] == true)
    let other = #","headers":{"If-None-Match":"\"0\""}"#
    #expect(try ask(Self.thumbnail + other, of: stage)["bytes"]?.integer == 500)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test(arguments: ["", other])
  func `a client that has the picture needs no bytes`(form: String) throws {
    let stage = try stage()
    let known = #""headers":{"If-None-Match":"\"1\""}"#
    let line = try ask(form.isEmpty ? known : form + "," + known, of: stage)
    #expect(line["not_modified"] == true && stage.origin.count("/a") == 1)
  }

  @Test func `a form that only memory has is kept beside its picture when that comes anew`() throws {
    let stage = try stage()
    _ = try ask(Self.thumbnail, of: stage)
    #expect(try stage.client.ask(#"{"cmd":"purge","tier":"disk"}"#)["ok"] == true)
    _ = try ask(Self.thumbnail + #","cache":"reload""#, of: stage)
    try emptyMemory(of: stage)
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "disk")
    #expect(stage.decoding.orders.count == 1)
  }

  // MARK: Stale

  @Test func `one conditional request renews all forms`() throws {
    let stage = try stage(forms: [Self.thumbnail, Self.other])
    stage.pass(.seconds(3_601))
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: .conditional(png(20_000), tag: "\"1\"", headers: Self.hour)))
    for (number, form) in [Self.thumbnail, Self.other].enumerated() {
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a",\#(form)}"#)
    }
    gate.open()
    try stage.play(
      #"""
      < {"id":0,"ok":true,"source":"revalidated","bytes":500,"width":8,"fresh_for":3600}
      < {"id":1,"ok":true,"source":"revalidated","bytes":500,"width":6,"fresh_for":3600}
      """#)
    try emptyMemory(of: stage)
    for form in [Self.thumbnail, Self.other] {
      #expect(try ask(form, of: stage)["source"]?.string == "disk")
    }
    #expect(conditions(stage) == [false, true] && stage.decoding.orders.count == 2)
    #expect(try stage.stats("disk", "records") == 1)
    #expect(try stage.stats("downloads", "bytes_received") == 20_000)
  }

  @Test func `a form in memory is renewed with the others`() throws {
    let stage = try stage()
    _ = try ask(Self.thumbnail, of: stage)
    stage.pass(.seconds(3_601))
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "revalidated")
    let line = try ask(Self.thumbnail, of: stage)
    #expect(line["source"]?.string == "memory" && line["fresh_for"]?.integer == 3_600)
  }

  @Test func `a soft purge has the facts confirmed`() throws {
    let stage = try stage()
    _ = try stage.client.ask(
      #"{"cmd":"purge","url":"\#(stage.origin.url("/a"))","soft":true}"#)
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "revalidated")
    #expect(conditions(stage) == [false, true])
  }

  @Test func `another version removes the forms of the one before`() throws {
    let stage = try stage()
    stage.pass(.seconds(3_601))
    stage.origin.plan("/a", .conditional(png(20_000, seed: 5), tag: "\"2\"", headers: Self.hour))
    let line = try ask(Self.thumbnail, of: stage)
    #expect(line["source"]?.string == "network" && stage.decoding.orders.count == 2)
    stage.pass(.seconds(60))
    #expect(try stage.stats("disk", "records") == 0)
    #expect(stage.files.count == 2)
  }

  @Test func `the same bytes once more keep the forms`() throws {
    let stage = try stage()
    stage.pass(.seconds(3_601))
    stage.origin.plan("/a", .picture(png(20_000), headers: Self.hour))
    #expect(try ask(Self.thumbnail, of: stage)["bytes"]?.integer == 500)
    #expect(stage.decoding.orders.count == 1)
    #expect(try stage.stats("disk", "records") == 0)
  }

  @Test func `a form stands in for an origin that fails`() throws {
    let stage = try stage(fields: "", "HTTP.StaleIfError=1h")
    stage.pass(.seconds(3_601))
    stage.origin.plan("/a", .status(503))
    let line = try ask(Self.thumbnail, of: stage)
    #expect(line["ok"] == true && line["stale"] == true && line["bytes"]?.integer == 500)
    #expect(try ask(Self.other, of: stage).outcome == "http_status")
  }

  @Test func `a stale form is shown at once where its origin allows that, and confirmed`() throws {
    let stage = try stage([("Cache-Control", "max-age=10, stale-while-revalidate=600")])
    stage.pass(.seconds(11))
    let line = try ask(Self.thumbnail, of: stage)
    #expect(line["source"]?.string == "disk" && line["stale"] == true)
    stage.settle()
    #expect(conditions(stage) == [false, true])
    #expect(try ask(Self.thumbnail, of: stage)["stale"] == nil)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `an origin that has no picture any more ends its forms`() throws {
    let stage = try stage()
    stage.pass(.seconds(3_601))
    stage.origin.plan("/a", .status(404))
    #expect(try ask(Self.thumbnail, of: stage).outcome == "http_status")
    stage.pass(.seconds(60))
    #expect(stage.files.isEmpty)
    #expect(try stage.stats("disk", "entries") == 0)
  }

  // MARK: The bytes

  @Test(arguments: [#""priority":"normal""#, other], [0, 4_000])
  func `the picture, or another form, is downloaded again without a condition`(
    fields: String, seconds: Int
  ) throws {
    let stage = try stage()
    stage.pass(.seconds(seconds))
    #expect(try ask(fields, of: stage)["source"]?.string == "network")
    #expect(conditions(stage) == [false, false])
    #expect(try stage.stats("disk", "records") == 0)
    try emptyMemory(of: stage)
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "disk")
  }

  @Test func `who needs the bytes does not join a confirmation`() throws {
    let stage = try stage()
    stage.pass(.seconds(3_601))
    let gate = Gate()
    let answer = OriginAnswer.conditional(png(20_000), tag: "\"1\"", headers: Self.hour)
    stage.origin.plan("/a", .held(at: gate, then: answer), answer)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a",\#(Self.thumbnail)}"#)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","deliver":"none"}
      < {"id":2,"ok":true,"source":"network","bytes":20000}
      """#)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true,"source":"revalidated","bytes":500}"#)
    #expect(conditions(stage) == [false, true, false])
    // What came later stays, with its bytes.
    #expect(try stage.stats("disk", "records") == 0)
    #expect(try stage.stats("disk", "entries") == 2)
  }

  @Test func `a form that goes during its confirmation is made anew`() throws {
    let stage = try stage(forms: [Self.thumbnail, Self.other])
    stage.pass(.seconds(3_601))
    let gate = Gate()
    let answer = OriginAnswer.conditional(png(20_000), tag: "\"1\"", headers: Self.hour)
    stage.origin.plan("/a", .held(at: gate, then: answer), answer)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a",\#(Self.thumbnail)}"#)
    _ = try stage.client.ask(#"{"cmd":"purge","url":"\#(stage.origin.url("/a"))"}"#)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true,"bytes":500}"#)
    #expect(try stage.stats("disk", "records") == 0)
  }

  @Test func `facts that are confirmed without bytes are not given to the fleet`() throws {
    let fleet = PlannedFleet()
    let stage = try CoreStage(in: fleet, "Disk.TrimTo=100%")
    fleet.open()
    stage.settle()
    stage.origin.plan("/a", .conditional(png(20_000), tag: "\"1\"", headers: Self.hour))
    _ = try ask(Self.thumbnail, of: stage)
    try shed(stage, forms: 1)
    stage.pass(.seconds(3_601))
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "revalidated")
    #expect(fleet.stores.count { $0.payload.count == 20_000 } == 1)
    #expect(fleet.words.last?.hasPrefix("release") == true)
  }

  @Test func `a purge by a tag that the picture got later leaves no form`() throws {
    let stage = try stage(forms: [Self.thumbnail, Self.other])
    for form in [Self.thumbnail, Self.other] {
      _ = try ask(form, of: stage)
      _ = try ask(form + #","cache":"no-cache","tags":["late"]"#, of: stage)
    }
    #expect(try stage.stats("memory", "entries") == 3)
    let purge = try stage.client.ask(#"{"cmd":"purge","tag":"late"}"#)
    #expect(purge["memory"]?["entries"]?.integer == 3)
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("disk", "entries") == 0)
  }

  @Test(arguments: [true, false])
  func `a form that is found beside the bytes of its picture goes with them`(isInMemory: Bool) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(20_000), tag: "\"1\"", headers: Self.hour))
    _ = try ask(Self.thumbnail, of: stage)
    try emptyMemory(of: stage)
    if isInMemory { _ = try ask(Self.thumbnail, of: stage) }
    let line = try ask(Self.thumbnail + #","cache":"no-cache","tags":["late"]"#, of: stage)
    #expect(line["source"]?.string == "revalidated" && stage.decoding.orders.count == 1)
    _ = try stage.client.ask(#"{"cmd":"purge","tag":"late"}"#)
    #expect(try stage.stats("memory", "entries") == 0)
  }

  // MARK: What is said of it

  @Test func `query and entries say that there are no bytes`() throws {
    let stage = try stage()
    for command in [#""cmd":"query","url":"ORIGIN/a""#, #""cmd":"entries","tier":"disk","limit":1"#] {
      let line = try stage.play("> {\(command)}\n< {\"ok\":true}")[0]
      let entry = line["entries"]?[0] ?? line
      #expect(entry["body"] == false && entry["path"] == nil)
      #expect(entry["bytes"]?.integer == 20_000 && entry["width"]?.integer == 16)
    }
    #expect(try stage.stats("disk", "files") == 1 && stage.stats("disk", "entries") == 2)
  }

  @Test func `pictures are kept whole where the configuration says so, also after a reload`() throws {
    let stage = try CoreStage("Disk.TrimTo=100%", "Disk.Originals=keep")
    stage.origin.plan("/a", .conditional(png(20_000), tag: "\"1\"", headers: Self.hour))
    _ = try ask(Self.thumbnail, of: stage)
    try stage.apply("Disk.Capacity=5120")
    stage.settle()
    #expect(try stage.stats("disk", "records") == 0 && stage.files.count < 2)
    try stage.apply("Disk.Capacity=150M", "Disk.Originals=shed")
    try emptyMemory(of: stage)
    stage.pass(.seconds(60))
    _ = try ask(Self.thumbnail, of: stage)
    try shed(stage, forms: 1)
  }

  @Test(arguments: [true, false], [true, false])
  func `a form has the age of its picture, in lists and for purges`(
    isMarked: Bool, isOnDiskAlone: Bool
  ) throws {
    let stage = try stage(forms: [Self.thumbnail, Self.other])
    for form in [Self.thumbnail, Self.other] { _ = try ask(form, of: stage) }
    if isMarked {
      _ = try stage.client.ask(
        #"{"cmd":"purge","url":"\#(stage.origin.url("/a"))","soft":true}"#)
    } else {
      stage.pass(.seconds(3_601))
    }
    #expect(try ask(Self.thumbnail, of: stage)["source"]?.string == "revalidated")
    stage.pass(.seconds(10))
    if isOnDiskAlone {
      try emptyMemory(of: stage)
      for form in [Self.thumbnail, Self.other] { _ = try ask(form, of: stage) }
    }
    for tier in ["memory", "disk"] {
      let page = try stage.client.ask(#"{"cmd":"entries","tier":"\#(tier)"}"#)
      let entries = try #require(page["entries"]?.array)
      #expect(entries.count == (isOnDiskAlone && tier == "memory" ? 2 : 3))
      for entry in entries {
        #expect(entry["fresh_for"]?.integer == 3_590 && entry["age"]?.integer == 10)
      }
    }
    let purge = #"{"cmd":"purge","expired":true}"#
    let left = try stage.client.ask(purge)
    #expect(left["removed"] == false && left["memory"]?["entries"]?.integer == 0)
    stage.pass(.seconds(3_600))
    #expect(try stage.client.ask(purge)["removed"] == true)
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("disk", "entries") == 0)
  }

  // MARK: Memory

  /// A daemon without a disk whose memory has no room for the bytes of its pictures.
  func narrow(_ count: Int) throws -> CoreStage {
    let stage = try CoreStage("Disk.Enabled=no", "Memory.Capacity=300K", "Memory.Preferred=100%")
    for number in 0..<count {
      stage.origin.plan(
        "/\(number)",
        .conditional(png(50_000, seed: UInt64(number)), tag: "\"\(number)\"", headers: Self.hour))
      #expect(try thumbnail(number, of: stage)["source"]?.string == "network")
    }
    return stage
  }

  private func thumbnail(_ number: Int, _ further: String = "", of stage: CoreStage) throws
    -> JSONValue
  {
    try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.origin.url("/\(number)"))","deliver":"inline",\#(Self.thumbnail)\#(further)}"#
    )
  }

  @Test func `bytes go first in memory, and forms stay there`() throws {
    let stage = try narrow(20)
    for number in 0..<20 {
      let line = try thumbnail(number, of: stage)
      #expect(line["source"]?.string == "memory" && line["bytes"]?.integer == 500)
    }
    #expect(stage.origin.requests.count == 20 && stage.decoding.orders.count == 20)
    #expect(try stage.stats("memory", "entries") == 40)
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/0"}
      < {"ok":true,"tier":"memory","bytes":50000,"body":false}
      """#)
    let whole = try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.origin.url("/0"))","cache":"only-if-cached"}"#)
    #expect(whole.outcome == "not_cached")
  }

  @Test func `what memory has without bytes is confirmed, downloaded and purged as on disk`() throws {
    let stage = try narrow(20)
    stage.pass(.seconds(3_601))
    for number in 0..<10 {
      #expect(try thumbnail(number, of: stage)["source"]?.string == "revalidated")
      #expect(try thumbnail(number, of: stage)["source"]?.string == "memory")
    }
    #expect(stage.origin.requests.count == 30 && stage.decoding.orders.count == 20)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/0","deliver":"none"}
      < {"id":1,"ok":true,"source":"network","bytes":50000}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/0","deliver":"none"}
      < {"id":2,"ok":true,"source":"memory","bytes":50000}
      """#)
    #expect(stage.origin.requests("/0").last?.header("if-none-match") == nil)
    #expect(try thumbnail(0, of: stage)["source"]?.string == "memory")
    _ = try stage.client.ask(#"{"cmd":"purge","prefix":"\#(stage.origin.url("/"))"}"#)
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test func `bytes that went from memory are on disk`() throws {
    let stage = try CoreStage("Memory.Capacity=300K", "Memory.Preferred=100%")
    for number in 0..<10 {
      stage.origin.plan("/\(number)", .picture(png(50_000, seed: UInt64(number)), headers: Self.hour))
      _ = try thumbnail(number, of: stage)
    }
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/0"}
      < {"ok":true,"tier":"disk","path":"…"}
      > {"cmd":"fetch","id":1,"url":"ORIGIN/0","deliver":"none"}
      < {"id":1,"ok":true,"source":"disk","bytes":50000}
      """#)
    for form in [Self.other, #""http":true"#] {
      let line = try stage.client.ask(
        #"{"cmd":"fetch","url":"\#(stage.origin.url("/1"))",\#(form)}"#)
      #expect(line["ok"] == true)
    }
    #expect(stage.origin.requests.count == 10)
  }
}
