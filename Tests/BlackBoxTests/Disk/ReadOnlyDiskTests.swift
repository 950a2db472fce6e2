import ImgdTestSupport
import ImgdWire
import Testing

@Suite(
  "A disk that cannot be written to",
  .enabled(if: Freeze.isPossible, "needs root, and a file system whose open files can be frozen"))
struct ReadOnlyDiskTests {
  private func storedStage() throws -> DiskStage {
    let stage = try DiskStage("Disk.Lease=0s")
    for number in 0..<3 { stage.origin.plan("/\(number)", .picture(png(1_000 + number))) }
    for number in 0..<2 { _ = try stage.path(of: "/\(number)") }
    return stage
  }

  @Test func `serves what is there, and is written to when that is possible again`() throws {
    let stage = try storedStage()
    let path = try stage.path(of: "/0")
    let freeze = try Freeze(stage.cache)
    try stage.emptyMemory()
    let line = try stage.fetch("/0")
    #expect(line["source"] == .string("disk") && line["path"] == .string(path))
    let other = try stage.fetch("/2")
    #expect(other["source"] == .string("network") && other["path"] == .null)
    #expect(other["deliver_note"]?.string?.contains("cannot write") == true)
    #expect(try stage.disk("state") == .string("read-only"))
    #expect(try stage.count("write_errors") == 1)
    freeze.thaw()
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    for number in 0..<3 {
      #expect(readBytes(try stage.path(of: "/\(number)")) == png(1_000 + number))
    }
    #expect(try becomes { try stage.agrees() })
  }

  @Test(arguments: ["", #""url":"ORIGIN/0""#, #""tier":"disk""#])
  func `does not bring back what was purged`(filter: String) throws {
    let stage = try storedStage()
    let freeze = try Freeze(stage.cache)
    try stage.purge(filter)
    try stage.emptyMemory()
    #expect(try stage.source(of: "/0") == "network")
    freeze.thaw()
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    try stage.emptyMemory()
    #expect(try stage.source(of: "/0") == "network")
    #expect(try becomes { try stage.agrees() }, "\(stage.files) \(stage.log)")
    try stage.restart()
    #expect(try becomes { try stage.agrees() })
  }

  @Test(arguments: ["", #""url":"ORIGIN/0""#, #""prefix":"ORIGIN/""#])
  func `does not bring back what was purged, even after a kill`(filter: String) throws {
    let stage = try storedStage()
    let freeze = try Freeze(stage.cache)
    let line = try stage.ask(#"{"cmd":"purge"\#(filter.isEmpty ? "" : "," + filter)}"#)
    #expect(line["ok"] == .bool(true) && line["disk"] == .string("pending"), "\(line.text)")
    stage.kill9()
    freeze.thaw()
    try stage.start()
    #expect(try stage.source(of: "/0") == "network")
    #expect(try becomes { try stage.agrees() }, "\(stage.files) \(stage.log)")
  }

  @Test func `does not count a soft purge as done`() throws {
    let stage = try DiskStage()
    stage.origin.plan("/0", .conditional(png(), tag: "\"1\""))
    _ = try stage.path(of: "/0")
    let freeze = try Freeze(stage.cache)
    try stage.purge(#""soft":true"#)
    try stage.emptyMemory()
    #expect(try stage.source(of: "/0") != "disk")
    freeze.thaw()
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    try stage.emptyMemory()
    #expect(try stage.source(of: "/0") != "disk")
  }

  @Test func `is no reason not to start`() throws {
    let stage = try storedStage()
    #expect(stage.stop() == 0)
    let freeze = try Freeze(stage.cache)
    try stage.start()
    for number in 0..<3 { #expect(try stage.fetch("/\(number)")["ok"] == .bool(true)) }
    freeze.thaw()
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    for number in 0..<3 {
      #expect(readBytes(try stage.path(of: "/\(number)")) == png(1_000 + number))
    }
  }
}
