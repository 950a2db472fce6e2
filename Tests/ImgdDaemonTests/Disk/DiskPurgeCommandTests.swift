import ImgdTestSupport
import ImgdWire
import Testing

struct DiskPurgeCommandTests {
  static let filters = [
    "", #""url":"ORIGIN/a""#, #""prefix":"ORIGIN/""#, #""host":"127.0.0.1""#, #""tag":"t""#,
    #""tier":"disk""#,
  ]

  @Test(arguments: filters.dropLast())
  func `a purged picture that is being stored is delivered, and kept in neither tier`(
    filter: String
  ) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png(1_000))), .picture(png(2_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["t"]}"#)
    #expect(gate.arrivals == 1)
    try stage.purge(filter)
    gate.open()
    let line = try stage.client.receive()
    #expect(line["ok"] == .bool(true) && line["bytes"] == .integer(1_000))
    #expect(line["path"] == .null && line["deliver_note"]?.string?.contains("purged") == true)
    #expect(stage.files.isEmpty)
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
    try stage.restart()
    #expect(try stage.fetch("/a")["bytes"] == .integer(2_000))
  }

  @Test(arguments: filters)
  func `a purge covers a fetch that was sent with it`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    _ = try stage.path(of: "/a", #""tags":["t"]"#)
    try stage.emptyMemory()
    // Which answer comes first does not matter.
    let lines = try stage.play(
      #"""
      > {"cmd":"purge","id":1\#(filter.isEmpty ? "" : "," + filter)}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a"}
      < {"ok":true}
      < {"ok":true}
      """#)
    let purged = try #require(lines.first { $0["id"] == .integer(1) })
    let fetched = try #require(lines.first { $0["id"] == .integer(2) })
    #expect(purged["removed"] == .bool(true) && purged["disk"]?["entries"] == .integer(1))
    #expect(fetched["source"] == .string("network") && fetched["bytes"] == .integer(2_000))
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a purge of one tier leaves the other`() throws {
    let stage = try CoreStage("Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()))
    let path = try stage.path(of: "/a")
    #expect(try stage.purge(#""tier":"disk""#) == 1)
    stage.settle()
    #expect(stage.files.isEmpty)
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("memory"))
    // It is written again for a request for a path, under another name.
    #expect(line["path"]?.string.map { $0 != path } == true, "\(line.text)")
  }

  @Test(arguments: ["", #""url":"ORIGIN/a","#])
  func `a purge of memory leaves pictures that are being written to disk`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)))
    for _ in 0..<30 {
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a","deliver":"none"}
        < {"ok":true,"source":"network"}
        > {"cmd":"purge",\#(filter)"tier":"memory"}
        > {"cmd":"fetch","url":"ORIGIN/a","deliver":"none"}
        < {"ok":true,"memory":{"entries":1}}
        < {"ok":true,"source":"disk"}
        > {"cmd":"purge"}
        < {"ok":true}
        """#)
    }
  }

  @Test func `a soft purge leaves pictures on disk for revalidation`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\""))
    let path = try stage.path(of: "/a")
    #expect(try stage.purge(#""soft":true"#) == 1)
    try stage.restart()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("revalidated") && line["path"] == .string(path))
    try stage.emptyMemory()
    #expect(try stage.source(of: "/a") == "disk")
  }
}
