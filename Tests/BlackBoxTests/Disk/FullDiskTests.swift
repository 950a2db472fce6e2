import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A small file system of the test's own.
private final class SmallDisk {
  let path: String

  static let canBeMade: Bool = {
    guard geteuid() == 0, let disk = try? SmallDisk(kilobytes: 64) else { return false }
    return CacheFiles.exists(disk.path)
  }()

  init(kilobytes: Int) throws {
    path = try TemporaryDirectory.make()
    try CacheFiles.shell("mount -t tmpfs -o size=\(kilobytes)k,mode=755 none \(path)")
  }

  deinit {
    try? CacheFiles.shell("umount -l \(path)")
    TemporaryDirectory.remove(path)
  }

  func remount(_ options: String) throws {
    try CacheFiles.shell("mount -o remount,\(options) \(path)")
  }

  /// Takes all the room there is.
  func fill() throws {
    try CacheFiles.shell("dd if=/dev/zero of=\(path)/ballast bs=4k 2>/dev/null; true")
  }

  func makeRoom() { unlink(path + "/ballast") }
}

@Suite("A disk that is full", .enabled(if: SmallDisk.canBeMade)) struct FullDiskTests {
  private func plan(_ pictures: Int, _ bytes: Int, on stage: DiskStage) {
    for number in 0..<pictures {
      stage.origin.plan("/\(number)", .picture(png(bytes, seed: UInt64(number))))
    }
  }

  /// Fetches a picture, whose bytes must be right with a path and without.
  private func fetch(_ number: Int, _ bytes: Int, from stage: DiskStage) throws -> JSONValue {
    let line = try stage.fetch("/\(number)")
    #expect(line["bytes"] == .integer(Int64(bytes)))
    if let path = line["path"]?.string {
      #expect(readBytes(path) == png(bytes, seed: UInt64(number)))
    } else {
      #expect(line["deliver_note"]?.string?.isEmpty == false)
    }
    return line
  }

  /// Large beside the log of the index, which takes some megabytes.
  @Test func `gives up what was used last so that new pictures fit`() throws {
    let disk = try SmallDisk(kilobytes: 20_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", "Disk.Lease=0s", directory: disk.path + "/cache")
    let pictures = (0..<60).map { number in
      png(seed: UInt64(number)) + [UInt8](repeating: UInt8(number), count: 500_000)
    }
    for number in 0..<60 {
      stage.origin.plan("/\(number)", .picture(pictures[number]))
      let line = try stage.fetch("/\(number)")
      if let path = line["path"]?.string { #expect(readBytes(path) == pictures[number]) }
    }
    #expect(try stage.count("evictions") > 20)
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    #expect(try stage.path(of: "/59").isEmpty == false)
    #expect(try becomes { try stage.agrees() }, "\(stage.files) \(stage.log)")
    try stage.restart()
    #expect(try becomes { try stage.agrees() })
    #expect(try stage.count("entries") > 10)
  }

  @Test func `fails no fetch, says so, and recovers when there is room`() throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", "Disk.Lease=30s", directory: disk.path + "/cache")
    plan(10, 50_000, on: stage)
    let lent = try stage.path(of: "/0")
    try disk.fill()
    for number in 1..<10 {
      #expect(try fetch(number, 50_000, from: stage)["path"] == .null)
    }
    #expect(try stage.disk("state") == .string("read-only"))
    #expect(try stage.count("write_errors") > 0)
    #expect(readBytes(lent) == png(50_000))
    try stage.emptyMemory()
    #expect(try stage.source(of: "/0") == "disk")
    disk.makeRoom()
    #expect(try becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    for number in 0..<10 {
      #expect(try fetch(number, 50_000, from: stage)["path"]?.string != nil)
    }
    #expect(try becomes { try stage.agrees() })
  }

  @Test func `can be purged, which makes room`() throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", "Disk.Lease=0s", directory: disk.path + "/cache")
    plan(10, 50_000, on: stage)
    for number in 0..<9 { _ = try stage.path(of: "/\(number)") }
    try disk.fill()
    #expect(try stage.purge(#""tier":"disk""#) == 9)
    #expect(try becomes { try stage.path(of: "/9").isEmpty == false }, "\(stage.log)")
    try stage.restart()
    #expect(try becomes { try stage.agrees() })
    #expect(try stage.count("entries") == 1)
  }

  @Test func `lets a daemon start and stop`() throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", directory: disk.path + "/cache", starts: false)
    plan(1, 50_000, on: stage)
    try disk.fill()
    try stage.start()
    _ = try fetch(0, 50_000, from: stage)
    disk.makeRoom()
    #expect(
      try becomes { try fetch(0, 50_000, from: stage)["path"]?.string != nil }, "\(stage.log)"
    )
    try disk.fill()
    #expect(stage.stop() == 0)
    try stage.start()
    _ = try fetch(0, 50_000, from: stage)
    disk.makeRoom()
    #expect(
      try becomes { try fetch(0, 50_000, from: stage)["path"]?.string != nil }, "\(stage.log)"
    )
  }

  /// Every file is leased, so that not one of them can go for the room that a row takes.
  @Test(arguments: ["", #","prefix":"ORIGIN/""#])
  func `does not bring back what was purged, even after a kill`(filter: String) throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", directory: disk.path + "/cache")
    plan(4, 5_000, on: stage)
    for number in 0..<4 { _ = try stage.path(of: "/\(number)") }
    try disk.fill()
    #expect(try stage.ask(#"{"cmd":"purge"\#(filter)}"#)["ok"] == .bool(true))
    stage.kill9()
    disk.makeRoom()
    try stage.start()
    for number in 0..<4 { #expect(try stage.source(of: "/\(number)") == "network") }
  }

  @Test func `keeps nobody waiting who has asked for much at once`() throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", "Disk.Lease=30s", directory: disk.path + "/cache")
    plan(300, 20_000, on: stage)
    for number in 0..<300 {
      let url = stage.origin.url("/\(number)")
      try stage.client.send(#"{"cmd":"fetch","id":\#(number),"url":"\#(url)"}"#)
    }
    for _ in 0..<300 {
      let line = try stage.client.receive()
      let number = Int(try #require(line["id"]?.integer))
      #expect(line["ok"] == .bool(true) && line["bytes"] == .integer(20_000))
      if let path = line["path"]?.string {
        #expect(readBytes(path) == png(20_000, seed: UInt64(number)))
      }
    }
    #expect(stage.isRunning)
  }

  @Test func `at the start is no reason not to start`() throws {
    let disk = try SmallDisk(kilobytes: 2_000)
    let stage = try DiskStage(
      "Disk.Capacity=150M", "Disk.MinFree=0", directory: disk.path + "/cache")
    plan(2, 5_000, on: stage)
    _ = try stage.path(of: "/0")
    #expect(stage.stop() == 0)
    try disk.remount("ro")
    try stage.start()
    for number in 0..<2 { _ = try fetch(number, 5_000, from: stage) }
    try disk.remount("rw")
    #expect(
      try becomes { try fetch(1, 5_000, from: stage)["path"]?.string != nil }, "\(stage.log)")
  }
}
