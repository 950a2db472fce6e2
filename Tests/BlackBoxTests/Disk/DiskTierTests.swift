import ImgdTestSupport
import ImgdWire
import Testing

/// What is on disk is there for the next process.
struct DiskTierTests {
  @Test func `a picture outlives the process, its path, status and headers too`() throws {
    let stage = try DiskStage()
    stage.origin.plan(
      "/a", .picture(png(), headers: [("ETag", "\"1\""), ("X-Two", "one"), ("X-Two", "two")]))
    stage.origin.plan("/b", .redirect(to: "/a"))
    let before = try stage.fetch("/b", #""http":true"#)
    let path = try #require(before["path"]?.string)
    try stage.restart()
    let after = try stage.fetch("/b", #""http":true"#)
    #expect(after["source"] == .string("disk") && readBytes(path) == png())
    for field in ["http", "final_url", "path", "width", "height", "frames", "format", "type"] {
      #expect(after[field] != nil && after[field] == before[field], "\(field)")
    }
    #expect(after["http"]?["headers"]?["x-two"] == .string("one, two"))
    #expect(stage.origin.count("/a") == 1)
  }
}
