import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

struct MemoryUseTests {
  /// The seeds' numbers: ten pictures fit, and six are left after one too many.
  @Test func `an eleventh picture where ten fit leaves the six that were used last`() throws {
    let each = 100_000
    // For the cost of an entry besides its picture, which varies.
    let slack = 20_000
    let probe = try CoreStage("Disk.Enabled=no")
    probe.origin.plan("/a", .picture(png(each)))
    try probe.fetch("/a")
    let cost = try probe.stats("memory", "bytes")
    let stage = try CoreStage(
      "Memory.Capacity=\(10 * cost + slack)", "Memory.Preferred=\(6 * cost + slack)",
      "Memory.MaxEntry=\(2 * cost)", "Disk.Enabled=no")
    for number in 0..<11 { stage.origin.plan("/\(number)", .picture(png(each))) }
    for number in 0..<10 { try stage.fetch("/\(number)") }
    #expect(try stage.stats("memory", "entries") == 10)
    #expect(try stage.stats("memory", "evictions") == 0)
    let line = try stage.fetch("/0")
    #expect(line["source"] == .string("memory"))
    try stage.fetch("/10")
    #expect(try stage.stats("memory", "entries") == 6)
    #expect(try stage.stats("memory", "evictions") == 5)
    for number in 0...10 {
      let isKept = number == 0 || number > 5
      try stage.play(
        #"""
        > {"cmd":"query","url":"ORIGIN/\#(number)"}
        < {"ok":true,"tier":"\#(isKept ? "memory" : "none")"}
        """#)
    }
  }

  @Test func `usage returns to its earlier value when a picture is replaced or removed`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(9_000)))
    stage.origin.plan("/b", .picture(png(5_000)))
    try stage.fetch("/b")
    let before = try stage.stats("memory", "bytes")
    try stage.fetch("/a")
    let both = try stage.stats("memory", "bytes")
    #expect(both - before >= 9_000)
    for _ in 0..<5 {
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a","cache":"reload"}
        < {"ok":true,"source":"network"}
        """#)
    }
    #expect(try stage.stats("memory", "bytes") == both)
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(try stage.stats("memory", "replacements") == 5)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true,"removed":true,"memory":{"entries":1,"bytes":\#(both - before)}}
      """#)
    #expect(try stage.stats("memory", "bytes") == before)
  }

  @Test func `a picture larger than the tier is delivered and not kept`() throws {
    let stage = try CoreStage(
      "Memory.Capacity=1M", "Memory.Preferred=600K", "Memory.MaxEntry=100K", "Disk.Enabled=no")
    stage.origin.plan("/small", .picture(png(50_000)))
    stage.origin.plan("/large", .picture(png(200_000)))
    try stage.fetch("/small")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/large","deliver":"inline"}
      < {"ok":true,"source":"network","data":"…"}
      > {"cmd":"query","url":"ORIGIN/large"}
      < {"ok":true,"tier":"none"}
      > {"cmd":"query","url":"ORIGIN/small"}
      < {"ok":true,"tier":"memory"}
      """#)
  }

  @Test func `a smaller capacity applies at once`() throws {
    let stage = try CoreStage("Memory.Capacity=1M", "Memory.Preferred=600K")
    for number in 0..<5 {
      stage.origin.plan("/\(number)", .picture(png(50_000)))
      try stage.fetch("/\(number)")
    }
    try stage.apply("Memory.Capacity=200K", "Memory.Preferred=120K")
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":2,"evictions":3}}
      > {"cmd":"query","url":"ORIGIN/4"}
      < {"ok":true,"tier":"memory"}
      """#)
  }

  @Test func `a tier without capacity still serves`() throws {
    let stage = try CoreStage("Memory.Capacity=0", "Memory.Preferred=0", "Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png()))
    for _ in 0..<2 {
      let line = try stage.fetch("/a")
      #expect(line["source"] == .string("network"))
    }
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test func `memory that clients hold is counted as lent once the tier drops it`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(9_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"fd"}
      < {"ok":true}
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"lent_bytes":"…"}}
      """#)
    let descriptor = try #require(stage.client.takeDescriptor())
    close(descriptor)
  }
}
