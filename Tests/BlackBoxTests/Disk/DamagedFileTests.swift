import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// What may have become of a file behind the daemon's back.
struct FileDamage: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// It shows only in a comparison with the checksum.
  var needsChecksum = false
  /// There is something that is not what was stored, instead of nothing.
  var isCorrupt = true
  /// What was put in its place must still be there afterwards, as somebody else's.
  let damage: @Sendable (String) throws -> Void

  static let all: [FileDamage] = [
    FileDamage(testDescription: "deleted", isCorrupt: false) { unlink($0) },
    FileDamage(testDescription: "emptied") { truncate($0, 0) },
    FileDamage(testDescription: "truncated") { truncate($0, 999) },
    FileDamage(testDescription: "grown") { truncate($0, 1_001) },
    FileDamage(testDescription: "flipped", needsChecksum: true) { path in
      var bytes = try #require(readBytes(path))
      bytes[500] ^= 1
      try CacheFiles.overwrite(path, bytes)
    },
    FileDamage(testDescription: "a link") { path in
      unlink(path)
      symlink("/etc/passwd", path)
    },
    FileDamage(testDescription: "a link to itself, moved away") { path in
      rename(path, path + ".moved")
      symlink(path + ".moved", path)
    },
    FileDamage(testDescription: "a directory with something in it") { path in
      unlink(path)
      mkdir(path, 0o755)
      try write("theirs", to: path + "/theirs")
    },
    FileDamage(testDescription: "a pipe that nobody writes to") { path in
      unlink(path)
      mkfifo(path, 0o640)
    },
    FileDamage(testDescription: "writable by everybody") { chmod($0, 0o666) },
    FileDamage(testDescription: "somebody else's") { chown($0, 65_534, 65_534) },
  ]
}

@Suite("A file that somebody has touched") struct DamagedFileTests {
  private func storedPicture() throws -> (stage: DiskStage, path: String) {
    let stage = try DiskStage("Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()), .picture(png(seed: 1)))
    return (stage, try stage.path(of: "/a"))
  }

  private func expectRecovery(_ stage: DiskStage, _ path: String, _ damage: FileDamage) throws {
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("network"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png(seed: 1))
    #expect(try stage.count("corrupt") == (damage.isCorrupt ? 1 : 0))
    #expect(try stage.count("entries") == 1)
    #expect(stage.origin.count("/a") == 2)
    #expect(stage.isRunning)
  }

  @Test(arguments: FileDamage.all.filter { !$0.needsChecksum })
  func `is a miss when it is wanted from disk`(damage: FileDamage) throws {
    let (stage, path) = try storedPicture()
    try stage.emptyMemory()
    try damage.damage(path)
    try expectRecovery(stage, path, damage)
  }

  @Test(arguments: FileDamage.all)
  func `is a miss after an unclean stop`(damage: FileDamage) throws {
    let (stage, path) = try storedPicture()
    stage.kill9()
    try damage.damage(path)
    try stage.start()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("network"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png(seed: 1))
  }

  @Test(arguments: FileDamage.all.filter { !$0.needsChecksum })
  func `is never handed out from memory`(damage: FileDamage) throws {
    let (stage, path) = try storedPicture()
    try damage.damage(path)
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("memory"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png())
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `what a link leads to is left alone, and so is what is in a directory`() throws {
    let (stage, path) = try storedPicture()
    let theirs = stage.home + "/theirs"
    try write("theirs", to: theirs)
    unlink(path)
    symlink(theirs, path)
    try stage.emptyMemory()
    let second = try stage.path(of: "/a")
    unlink(second)
    mkdir(second, 0o755)
    try write("theirs", to: second + "/theirs")
    try stage.emptyMemory()
    _ = try stage.path(of: "/a")
    #expect(read(theirs) == "theirs")
    #expect(try stage.becomes { stage.files.contains { $0.hasSuffix("/theirs") } })
    #expect(CacheFiles.below(stage.cache).contains { read($0) == "theirs" })
  }

  @Test func `what is flipped is found by its checksum after an unclean stop`() throws {
    let (stage, path) = try storedPicture()
    stage.kill9()
    let flipped = try #require(FileDamage.all.first { $0.needsChecksum })
    try flipped.damage(path)
    try stage.start()
    try expectRecovery(stage, path, flipped)
  }

  @Test(arguments: ["shelf", "rack"])
  func `a shelf that is replaced by a link is not followed`(which: String) throws {
    let (stage, path) = try storedPicture()
    let shelf = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    let rack = String(shelf[..<(shelf.lastIndex(of: "/") ?? shelf.endIndex)])
    let victim = which == "shelf" ? shelf : rack
    rename(victim, stage.home + "/elsewhere")
    symlink(stage.home + "/elsewhere", victim)
    let before = CacheFiles.below(stage.home + "/elsewhere")
    try stage.emptyMemory()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("network"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png(seed: 1))
    #expect(CacheFiles.kind(of: victim) == S_IFDIR)
    try stage.purge()
    #expect(try stage.becomes { !CacheFiles.exists(fresh) })
    #expect(CacheFiles.below(stage.home + "/elsewhere") == before)
  }

  @Test func `foreign files in the directory are left alone`() throws {
    let (stage, path) = try storedPicture()
    let shelf = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    let foreign = [
      stage.cache + "/notes.txt", stage.cache + "/1/notes.txt", shelf + "/notes.txt",
      shelf + "/0123-1.png", shelf + "/ffffffffffffffffffffffffffffffff-1.png",
    ]
    for file in foreign { try write("theirs", to: file) }
    try stage.crash()
    try stage.purge()
    #expect(try stage.becomes { !CacheFiles.exists(path) })
    try stage.restart()
    for file in foreign { #expect(read(file) == "theirs", "\(file)") }
  }
}
