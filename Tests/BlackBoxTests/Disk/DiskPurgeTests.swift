import ImgdTestSupport
import ImgdWire
import Testing

/// A purge of the disk tier, and the end of a process.
@Suite struct DiskPurgeTests {
  @Test func `is carried out before what was sent after it, after a start too`() throws {
    let stage = try DiskStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    _ = try stage.path(of: "/a")
    for (index, source) in ["network", "network", "network"].enumerated() {
      try stage.restart()
      // Which answer comes first does not matter.
      let lines = try stage.play(
        #"""
        > {"cmd":"purge","id":1}
        > {"cmd":"fetch","id":2,"url":"ORIGIN/a"}
        < {"ok":true}
        < {"ok":true}
        """#)
      let purged = try #require(lines.first { $0["id"] == .integer(1) })
      let fetched = try #require(lines.first { $0["id"] == .integer(2) })
      #expect(purged["removed"] == .bool(true))
      #expect(fetched["source"] == .string(source) && fetched["bytes"] == .integer(2_000))
      #expect(stage.origin.count("/a") == 2 + index)
    }
  }

  @Test func `survives a kill as soon as it is answered`() throws {
    let stage = try DiskStage("Disk.Lease=0s")
    for number in 0..<20 {
      stage.origin.plan("/\(number)", .picture(png()))
      _ = try stage.path(of: "/\(number)", #""tags":["\#(number % 2 == 0 ? "even" : "odd")"]"#)
    }
    #expect(try stage.purge(#""tag":"even""#) == 10)
    try stage.crash()
    for number in 0..<20 {
      #expect(try stage.source(of: "/\(number)") == (number % 2 == 0 ? "network" : "disk"))
    }
    #expect(try stage.becomes { try stage.agrees() })
  }
}
