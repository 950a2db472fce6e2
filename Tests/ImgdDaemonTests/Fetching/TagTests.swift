import ImgdTestSupport
import ImgdWire
import Testing

struct TagTests {
  @Test func `an entry has the tags of all requests that shared its download`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["x","y"]}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","tags":["y","z"]}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      < {"id":2,"ok":true}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tags":["x","y","z"]}
      > {"cmd":"purge","tag":"z"}
      < {"ok":true,"removed":true}
      """#)
  }

  @Test(arguments: ["memory", "disk"])
  func `an entry with too many tags counts as having every tag`(_ tier: String) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    for part in 0..<5 {
      let tags = (0..<16).map { "\"\(part).\($0)\"" }.joined(separator: ",")
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a","tags":[\#(tags)]}"#)
    }
    gate.open()
    #expect(try stage.client.receive(5).allSatisfy { $0["ok"]?.bool == true })
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tags":[],"any_tag":true}
      > {"cmd":"purge","tag":"4.15","tier":"\#(tier)"}
      < {"ok":true,"removed":true,"\#(tier)":{"entries":1}}
      > {"cmd":"entries","tier":"\#(tier)"}
      < {"ok":true,"entries":[]}
      """#)
  }

  @Test func `an orphan that finishes keeps its tags and its lifetime`() throws {
    let stage = try CoreStage("Downloads.Orphans=finish")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    let receipt = "11111111-1111-4111-8111-111111111111"
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":"s","events":["cache"]}
      < {"id":"s","ok":true}
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["x"],"ttl":77,"receipt":"\#(receipt)"}
      > {"cmd":"cancel","id":2,"receipt":"\#(receipt)"}
      < {"id":1,"ok":false}
      < {"id":2,"ok":true}
      """#)
    gate.open()
    let lines = try stage.play(
      #"""
      < {"event":"cache","what":"stored"}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory","tags":["x"]}
      """#)
    #expect((60...77).contains(lines[1]["fresh_for"]?.integer ?? 0))
  }

  @Test func `an orphan is found by a purge of its tag`() throws {
    let stage = try CoreStage("Downloads.Orphans=finish")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    let receipt = "11111111-1111-4111-8111-111111111111"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["x"],"receipt":"\#(receipt)"}
      > {"cmd":"cancel","id":2,"receipt":"\#(receipt)"}
      < {"id":1,"ok":false}
      < {"id":2,"ok":true}
      > {"cmd":"purge","tag":"x"}
      < {"ok":true}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/a"}
      > {"cmd":"stats"}
      < {"ok":true,"downloads":{"active":2}}
      """#)
    gate.open()
    try stage.play(#"< {"id":3,"ok":true,"coalesced":false}"#)
  }
}
