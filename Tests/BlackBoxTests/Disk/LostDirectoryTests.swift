import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite("A cache directory that goes while the daemon runs") struct LostDirectoryTests {
  static let losses = [
    "rm -rf CACHE", "rm -rf CACHE/*", "rm -rf CACHE/1", "rm -rf CACHE/1/*", "rm -rf CACHE/1/?",
    "rm CACHE/lock", "mv CACHE CACHE.away", "mv CACHE/1 CACHE/2",
    "rm -rf CACHE; mkdir CACHE; chmod 755 CACHE", "mv CACHE/1 CACHE/2; echo x >CACHE/1",
    "rm CACHE/1/index.db", "rm CACHE/1/index.db*", "rm -f CACHE/1/index.db-wal",
    ": >CACHE/1/index.db-shm", "echo x >CACHE/1/index.db",
  ]

  @Test(arguments: losses)
  func `fails no fetch and is there again by itself`(loss: String) throws {
    let stage = try DiskStage("Disk.Lease=0s")
    for number in 0..<10 { stage.origin.plan("/\(number)", .picture(png(700 + number))) }
    for number in 0..<5 { _ = try stage.path(of: "/\(number)") }
    let line = loss.split(separator: "CACHE", omittingEmptySubsequences: false)
      .joined(separator: stage.cache)
    try CacheFiles.shell(line)
    try expectPictures(stage)
    #expect(
      try stage.becomes {
        try expectPictures(stage)
        return try stage.disk("state") == .string("ok") && hasAllPaths(stage)
      }, "\(stage.log)")
    #expect(stage.isRunning)
    try stage.restart()
    #expect(try hasAllPaths(stage), "\(stage.log)")
    #expect(try stage.becomes { try stage.agrees() }, "\(stage.files) \(stage.log)")
  }

  private func expectPictures(_ stage: DiskStage) throws {
    for number in 0..<10 {
      let line = try stage.fetch("/\(number)")
      #expect(line["bytes"] == .integer(Int64(700 + number)))
      guard let path = line["path"]?.string else { continue }
      #expect(readBytes(path) == png(700 + number), "\(path)")
    }
  }

  private func hasAllPaths(_ stage: DiskStage) throws -> Bool {
    try (0..<10).allSatisfy { number in
      try stage.fetch("/\(number)")["path"]?.string.flatMap(readBytes) == png(700 + number)
    }
  }

  @Test func `replaced by a file, it is made again when the file has gone`() throws {
    let stage = try DiskStage()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    try CacheFiles.shell("rm -rf \(stage.cache); echo theirs >\(stage.cache)")
    for _ in 0..<3 {
      let line = try stage.fetch("/a", #""cache":"reload""#)
      #expect(line["path"] == .null && line["deliver_note"]?.string?.isEmpty == false)
    }
    #expect(read(stage.cache) == "theirs\n")
    #expect(try stage.disk("state") == .string("off"))
    unlink(stage.cache)
    #expect(try stage.becomes { try stage.disk("state") == .string("ok") }, "\(stage.log)")
    #expect(readBytes(try stage.path(of: "/a")) == png())
  }

  @Test func `what was in memory is written again`() throws {
    let stage = try DiskStage()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    try CacheFiles.shell("rm -rf \(stage.cache)")
    #expect(try stage.becomes { CacheFiles.exists(try stage.path(of: "/a")) })
    #expect(stage.origin.count("/a") == 1)
  }
}
