import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures whose bytes go from the disk to a client.
struct DiskDeliveryTests {
  private static let sizes = [600, 5_000, 262_144, 262_145, 300_000]

  private func stage(_ bytes: [UInt8], _ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    stage.origin.plan("/a", .picture(bytes), .picture(png(seed: 1)))
    try stage.fetch("/a")
    try stage.emptyMemory()
    return stage
  }

  private func descriptor(_ stage: CoreStage, source: String) throws -> CInt {
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"fd"}
      < {"ok":true,"source":"\#(source)","fds":[{"kind":"encoded","bytes":"…"}]}
      """#)
    return try #require(stage.client.takeDescriptor())
  }

  @Test(arguments: sizes)
  func `a descriptor from disk carries the bytes, and nothing can be written to it`(
    count: Int
  ) throws {
    let stage = try stage(png(count))
    let file = try descriptor(stage, source: "disk")
    defer { close(file) }
    #expect(contents(of: file) == png(count))
    #expect(write(file, "x", 1) == -1)
    #expect(ftruncate(file, 0) == -1)
    let memory = try descriptor(stage, source: "memory")
    defer { close(memory) }
    #expect(contents(of: memory) == png(count))
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `descriptors from disk have separate offsets, and outlive the entry`() throws {
    let stage = try stage(png(5_000), "Disk.Lease=0s")
    let first = try descriptor(stage, source: "disk")
    defer { close(first) }
    try stage.emptyMemory()
    let second = try descriptor(stage, source: "disk")
    defer { close(second) }
    #expect(lseek(first, 700, SEEK_SET) == 700)
    try stage.purge()
    #expect(stage.files == [])
    #expect(contents(of: second) == png(5_000))
    #expect(contents(of: first) == Array(png(5_000).dropFirst(700)))
  }

  @Test(arguments: sizes.dropLast())
  func `the delivery inline brings exactly the bytes that are on disk`(count: Int) throws {
    let stage = try stage(png(count), "Control.MaxInline=300K")
    for source in ["disk", "memory"] {
      let line = try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a","deliver":"inline"}
        < {"ok":true,"source":"\#(source)","bytes":\#(count)}
        """#)[0]
      #expect(Base64.decode(line["data"]?.string ?? "") == png(count))
    }
  }

  @Test func `a picture on disk that is too large for inline is refused`() throws {
    let stage = try stage(png(2_049), "Control.MaxInline=2K")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"inline"}
      < {"ok":false,"error":{"code":"too_large_inline"}}
      """#)
  }

  @Test func `a picture that is to stay on disk is brought from there each time`() throws {
    let stage = try stage(png())
    for _ in 0..<3 {
      for form in ["fd", "inline", "none"] {
        let source = try stage.source(of: "/a", #""store":"disk","deliver":"\#(form)""#)
        #expect(source == "disk")
        if form == "fd" { close(try #require(stage.client.takeDescriptor())) }
      }
    }
    #expect(try stage.count("hits") == 9)
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test(arguments: FileDamage.all, ["fd", "inline", "none"])
  func `a touched file is a miss, whatever the form`(damage: FileDamage, form: String) throws {
    let stage = try CoreStage("Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()), .picture(png(seed: 1)))
    let path = try stage.path(of: "/a")
    try stage.emptyMemory()
    try damage.damage(path)
    stage.passMoment()
    #expect(try stage.source(of: "/a", #""deliver":"\#(form)""#) == "network")
    #expect(try stage.count("corrupt") == (damage.isCorrupt ? 1 : 0))
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `clients that read nothing get no more from disk than what they may leave unread`()
    throws
  {
    let stage = try stage(png(200_000))
    let lines = (0..<64).map {
      #"{"cmd":"fetch","id":\#($0),"url":"\#(stage.base)/a","store":"disk","deliver":"inline"}"#
    }
    let idle = try stage.connect()
    try idle.send(lines.joined(separator: "\n"))
    stage.settle()
    #expect(try stage.stats("held", "clients") < 2_000_000)
    let answers = try idle.receiveAnswers(64)
    #expect(answers.allSatisfy { $0["source"]?.string == "disk" })
  }
}
