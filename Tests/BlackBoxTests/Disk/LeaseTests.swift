import ImgdTestSupport
import ImgdWire
import Testing

@Suite struct LeaseTests {
  @Test func `a lease is kept by the next process too`() throws {
    // Longer than a start takes on a busy machine.
    let stage = try DiskStage("Disk.Lease=9s")
    stage.origin.plan("/a", .picture(png()))
    let lent = try stage.path(of: "/a")
    try stage.purge(#""url":"ORIGIN/a""#)
    try stage.crash()
    #expect(readBytes(lent) == png())
    #expect(try stage.becomes { stage.files.isEmpty })
  }
}
