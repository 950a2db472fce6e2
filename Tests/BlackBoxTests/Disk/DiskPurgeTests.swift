import ImgdTestSupport
import ImgdWire
import Testing

/// A purge of the disk tier, and the end of a process.
struct DiskPurgeTests {
  @Test func `is carried out before what was sent after it, after a start too`() throws {
    let stage = try DiskStage()
    let gates = (0..<3).map { _ in Gate() }
    let newer = gates.map { OriginAnswer.held(at: $0, then: .picture(png(2_000))) }
    stage.origin.plan("/a", .picture(png(1_000)), newer[0], newer[1], newer[2])
    _ = try stage.path(of: "/a")
    for (index, gate) in gates.enumerated() {
      try stage.restart()
      let client = try stage.connect()
      try client.send(
        #"{"cmd":"purge","id":1}"#, #"{"cmd":"fetch","id":2,"url":"\#(stage.origin.url("/a"))"}"#)
      // A picture that is stored before the purge has found the old one leaves it nothing to remove.
      let purged = try client.receive()
      #expect(purged["id"] == .integer(1) && purged["removed"] == .bool(true))
      gate.open()
      let fetched = try client.receive()
      #expect(fetched["source"] == .string("network") && fetched["bytes"] == .integer(2_000))
      #expect(stage.origin.count("/a") == 2 + index)
    }
  }

  @Test(.enabled(if: SystemCallCount.obstacle == nil, "strace is missing"))
  func `has reached the disk when it is answered`() throws {
    let stage = try DiskStage()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    let calls = try SystemCallCount(of: stage.pid)
    #expect(try stage.purge(#""url":"\#(stage.origin.url("/a"))""#) == 1)
    #expect(calls.end()["imgd-disk"]?["fdatasync"] ?? 0 > 0)
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
    #expect(try becomes { try stage.agrees() })
  }
}
