import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite("A file that was handed out") struct LentFileTests {
  let stage: Stage

  init() throws {
    stage = try Stage()
    stage.origin.plan("/a.png", .picture(png()))
  }

  private func path() throws -> String {
    let line = try stage.fetch("/a.png")
    return try #require(line["path"]?.string, "\(line.text)")
  }

  @Test func `a file that was handed out is there again at once when somebody has removed it`()
    throws
  {
    let first = try path()
    for _ in 0..<50 {
      let before = try path()
      unlink(before)
      #expect(readBytes(try path()) != nil)
    }
    #expect(try path() != first)
    #expect(try stage.stats("disk", "entries") == 1)
  }

  @Test func `a file that was handed out is written again when somebody has changed it`() throws {
    let first = try path()
    try write("no picture", to: first)
    let second = try path()
    #expect(second != first)
    #expect(readBytes(second)?.first == 0x89)
    #expect(try stage.stats("disk", "corrupt") == 1)
  }

  @Test(arguments: ["", "/1", "/1/*"])
  func `a file that was handed out is written again when its directories have gone`(below: String)
    throws
  {
    _ = try path()
    for _ in 0..<3 {
      // What the daemon makes at the same time may stay: it is still at it since the last time.
      try CacheFiles.shell("rm -rf \(stage.daemon.directory)/cache\(below); true")
      let again = try path()
      #expect(readBytes(again) != nil, "\(stage.daemon.log)")
    }
  }
}
