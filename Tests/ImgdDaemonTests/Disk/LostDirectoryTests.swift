import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// A cache directory that is removed while it is in use.
struct LostDirectoryTests {
  static let losses = [
    "rm -rf CACHE", "rm -rf CACHE/*", "rm -rf CACHE/1", "rm -rf CACHE/1/*", "rm -rf CACHE/1/??",
    "rm CACHE/lock", "mv CACHE CACHE.away", "mv CACHE/1 CACHE/2",
    "rm -rf CACHE; mkdir CACHE; chmod 755 CACHE", "mv CACHE/1 CACHE/2; echo x >CACHE/1",
    "rm CACHE/1/index.db", "rm CACHE/1/index.db*", "rm -f CACHE/1/index.db-wal",
    ": >CACHE/1/index.db-shm", "echo x >CACHE/1/index.db",
  ]

  @Test(arguments: losses)
  func `a lost directory fails no fetch and is created again`(loss: String) throws {
    let stage = try CoreStage("Disk.Lease=0s")
    for number in 0..<10 { stage.origin.plan("/\(number)", .picture(png(700 + number))) }
    for number in 0..<5 { _ = try stage.path(of: "/\(number)") }
    let line = loss.split(separator: "CACHE", omittingEmptySubsequences: false)
      .joined(separator: stage.cache)
    try CacheFiles.shell(line)
    stage.passMoment()
    try expectPictures(stage)
    for _ in 0..<3 {
      stage.pass(.seconds(60))
      try expectPictures(stage)
    }
    #expect(try stage.disk("state") == .string("ok") && hasAllPaths(stage))
    try stage.restart()
    #expect(try hasAllPaths(stage))
    stage.pass(.seconds(60))
    #expect(try Set(stage.entries().compactMap { $0["path"]?.string }) == stage.files)
  }

  private func expectPictures(_ stage: CoreStage) throws {
    for number in 0..<10 {
      let line = try stage.fetch("/\(number)")
      #expect(line["bytes"] == .integer(Int64(700 + number)))
      guard let path = line["path"]?.string else { continue }
      #expect(readBytes(path) == png(700 + number), "\(path)")
    }
  }

  private func hasAllPaths(_ stage: CoreStage) throws -> Bool {
    try (0..<10).allSatisfy { number in
      try stage.fetch("/\(number)")["path"]?.string.flatMap(readBytes) == png(700 + number)
    }
  }

  @Test func `a directory that was replaced by a file is created again once the file is gone`()
    throws
  {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    try CacheFiles.shell("rm -rf \(stage.cache); echo theirs >\(stage.cache)")
    stage.passMoment()
    for _ in 0..<3 {
      let line = try stage.fetch("/a", #""cache":"reload""#)
      #expect(line["path"] == .null && line["deliver_note"]?.string?.isEmpty == false)
    }
    #expect(read(stage.cache) == "theirs\n")
    #expect(try stage.disk("state") == .string("down"))
    #expect(
      try stage.disk("reason")?.string?.hasPrefix("\(stage.cache) is not a directory") == true)
    #expect(stage.core.statusText.contains("; the disk tier is down: \(stage.cache) is not"))
    unlink(stage.cache)
    stage.pass(.seconds(60))
    #expect(try stage.disk("state") == .string("ok"))
    #expect(try stage.disk("reason") == nil)
    #expect(!stage.core.statusText.contains("disk tier"))
    #expect(readBytes(try stage.path(of: "/a")) == png())
  }

  @Test func `pictures in memory are written again after the directory was lost`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    try CacheFiles.shell("rm -rf \(stage.cache)")
    stage.passMoment()
    stage.pass(.seconds(60))
    #expect(try CacheFiles.exists(stage.path(of: "/a")))
    #expect(stage.origin.count("/a") == 1)
  }
}
