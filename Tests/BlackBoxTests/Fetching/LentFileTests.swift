import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A file whose path was handed out.
struct LentFileTests {
  let stage: Stage

  init() throws {
    stage = try Stage()
    stage.origin.plan("/a.png", .picture(png()))
  }

  private func path() throws -> String {
    let line = try stage.fetch("/a.png")
    return try #require(line["path"]?.string, "\(line.text)")
  }

  @Test func `a handed-out file that another program removes is restored at once`()
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

  @Test func `a handed-out file that another program changes is written again`() throws {
    let first = try path()
    try write("no picture", to: first)
    let second = try path()
    #expect(second != first)
    #expect(readBytes(second)?.first == 0x89)
    #expect(try stage.stats("disk", "corrupt") == 1)
  }

  @Test(arguments: ["", "/1", "/1/*"])
  func `a handed-out file is written again when its directories are gone`(below: String)
    throws
  {
    _ = try path()
    for _ in 0..<3 {
      // Files that the daemon creates at the same time may stay: it is still busy from before.
      try CacheFiles.shell("rm -rf \(stage.daemon.directory)/cache\(below); true")
      let again = try path()
      #expect(readBytes(again) != nil, "\(stage.daemon.log)")
    }
  }
}
