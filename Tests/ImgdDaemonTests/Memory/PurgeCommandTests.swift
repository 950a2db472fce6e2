import ImgdTestSupport
import ImgdWire
import Testing

struct PurgeCommandTests {
  /// Five entries that differ in everything that can be filtered by.
  private func filledStage() throws -> CoreStage {
    let stage = try CoreStage()
    for path in ["/a", "/ab", "/b"] { stage.origin.plan(path, .picture(png())) }
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","tags":["t"]}
      < {"ok":true}
      > {"cmd":"fetch","url":"ORIGIN/a","identifier":"i"}
      < {"ok":true}
      > {"cmd":"fetch","url":"ORIGIN/ab","tags":["t","u"]}
      < {"ok":true}
      > {"cmd":"fetch","url":"ORIGIN/b","ttl":0}
      < {"ok":true}
      > {"cmd":"fetch","url":"\#(stage.origin.url("/b", host: "localhost"))","ttl":1000}
      < {"ok":true}
      """#)
    // Nothing is older than nothing in the moment in which it comes.
    stage.passMoment()
    return stage
  }

  static let filters: [(filter: String, memory: Int, disk: Int)] =
    [
      ("", 5), (#""url":"ORIGIN/a""#, 2), (#""url":"ORIGIN/a","identifier":"i""#, 1),
      (#""identifier":"i""#, 1), (#""prefix":"ORIGIN/a""#, 3), (#""prefix":"ORIGIN/ab""#, 1),
      (#""host":"localhost""#, 1), (#""host":"LOCALHOST""#, 1), (#""host":"host""#, 0),
      (#""host":"127.0.0.1""#, 4), (#""tag":"t""#, 2), (#""tag":"u""#, 1),
      (#""tag":"t","url":"ORIGIN/a""#, 1), (#""expired":true"#, 1), (#""older_than":1000"#, 0),
      (#""unused_for":1000"#, 0), (#""older_than":0"#, 5), (#""tier":"all","tag":"t""#, 2),
      (#""url":"ORIGIN/nowhere""#, 0),
    ].map { ($0.0, $0.1, $0.1) } + [
      (#""tier":"memory""#, 5, 0), (#""tier":"disk""#, 0, 5), (#""tier":"disk","tag":"u""#, 0, 1),
      (#""tier":"memory","tag":"u""#, 1, 0),
    ]

  @Test(arguments: filters)
  func `a filter removes the matching entries and leaves the rest`(
    filter: String, memory: Int, disk: Int
  ) throws {
    let stage = try filledStage()
    let fields = filter.isEmpty ? "" : "," + filter
    try stage.play(
      #"""
      > {"cmd":"purge"\#(fields)}
      < {"ok":true,"removed":\#(memory + disk > 0),"memory":{"entries":\#(memory),"bytes":"…"},"disk":{"entries":\#(disk),"bytes":\#(disk * 4_096)}}
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":\#(5 - memory)},"disk":{"entries":\#(5 - disk)}}
      > {"cmd":"purge"\#(fields)}
      < {"ok":true,"removed":false,"memory":{"entries":0,"bytes":0},"disk":{"entries":0,"bytes":0}}
      """#)
    if memory == 5 { #expect(try stage.stats("memory", "bytes") == 0) }
    if disk == 5 { #expect(try stage.stats("disk", "bytes") == 0) }
  }

  @Test(arguments: [
    #""tier":"tape""#, #""older_than":-1"#, #""expired":"yes""#, #""url":5"#, #""soft":1"#,
    #""host":"127.0.0.1:80""#, #""host":"*""#, #""prefix":"http://*""#, #""prefix":"localhost""#,
  ])
  func `an invalid filter is refused and removes nothing`(filter: String) throws {
    let stage = try filledStage()
    try stage.play(
      #"""
      > {"cmd":"purge","id":1,\#(filter)}
      < {"id":1,"ok":false,"error":{"code":"bad_request"}}
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":5}}
      """#)
  }

  @Test func `a soft purge makes entries stale, and the origin confirms them`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\""))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a","soft":true}
      < {"ok":true,"removed":false,"memory":{"entries":1,"bytes":"…"}}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"revalidated"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory"}
      """#)
  }

  @Test(
    arguments: ["", #""url":"ORIGIN/a""#, #""tag":"t""#, #""host":"127.0.0.1""#], [false, true])
  func `a picture that is purged during its transfer is delivered and not kept`(
    filter: String, isAskedAgain: Bool
  ) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: .picture(png(1_000))), .picture(png(2_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["t"]}"#)
    #expect(gate.arrivals == 1)
    try stage.play(
      #"""
      > {"cmd":"purge"\#(filter.isEmpty ? "" : "," + filter)}
      < {"ok":true,"memory":{"entries":0}}
      """#)
    if isAskedAgain {
      // A request after the purge must not get the result of a transfer before it.
      try stage.play(
        #"""
        > {"cmd":"fetch","id":2,"url":"ORIGIN/a"}
        < {"id":2,"ok":true,"coalesced":false,"bytes":2000}
        """#)
    }
    gate.open()
    let kept = isAskedAgain ? #""memory","bytes":2000"# : #""none""#
    try stage.play(
      #"""
      < {"id":1,"ok":true,"bytes":1000}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":\#(kept)}
      """#)
  }

  @Test(
    arguments: [
      ("", 1), (#""tier":"all""#, 1), (#""tier":"memory""#, 1), (#""tier":"disk""#, 0),
      (#""soft":true"#, 0), (#""host":"127.0.0.1""#, 0),
    ])
  func `a purge of everything drops partial bodies as well`(filter: String, drops: Int) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"purge"\#(filter.isEmpty ? "" : "," + filter)}
      < {"ok":true}
      """#)
    #expect(stage.origin.dropsOfPartials == drops)
  }

  @Test func `a purge of another picture leaves a transfer alone`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["t"]}"#)
    try stage.play(
      #"""
      > {"cmd":"purge","tag":"u"}
      < {"ok":true}
      > {"cmd":"purge","url":"ORIGIN/ab"}
      < {"ok":true}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory"}
      """#)
  }
}
