import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A picture file that another program changes or removes.
struct TouchedFileTests {
  private func storedPicture() throws -> (stage: CoreStage, path: String) {
    let stage = try CoreStage("Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()), .picture(png(seed: 1)))
    return (stage, try stage.path(of: "/a"))
  }

  private func expectRecovery(_ stage: CoreStage, _ path: String, _ damage: FileDamage) throws {
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("network"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png(seed: 1))
    #expect(try stage.count("corrupt") == (damage.isCorrupt ? 1 : 0))
    #expect(try stage.count("entries") == 1)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: FileDamage.all)
  func `a touched file is a miss for a fetch from disk`(damage: FileDamage) throws {
    let (stage, path) = try storedPicture()
    try stage.emptyMemory()
    try damage.damage(path)
    stage.passMoment()
    try expectRecovery(stage, path, damage)
  }

  @Test(arguments: FileDamage.all)
  func `a touched file is never handed out for a memory hit`(damage: FileDamage) throws {
    let (stage, path) = try storedPicture()
    try damage.damage(path)
    stage.passMoment()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("memory"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png())
    #expect(stage.origin.count("/a") == 1)
  }

  /// Of this length nothing is read on the loop.
  @Test(arguments: [1_000, 300_000], ["path", "fd", "inline"])
  func `a file that was changed while the daemon did not run is a miss`(
    bytes: Int, form: String
  ) throws {
    let stage = try CoreStage("Disk.Lease=0s", "Control.MaxInline=1M")
    stage.origin.plan("/a", .picture(png(bytes)), .picture(png(bytes, seed: 1)))
    let path = try stage.path(of: "/a")
    try stage.restart()
    try #require(FileDamage.all.first { $0.needsChecksum }).damage(path)
    #expect(try stage.source(of: "/a", #""deliver":"\#(form)""#) == "network")
    #expect(try stage.count("corrupt") == 1)
    #expect(try stage.path(of: "/a") != path)
  }

  @Test func `the target of a link and the contents of a directory are left alone`() throws {
    let (stage, path) = try storedPicture()
    let theirs = stage.home + "/theirs"
    try write("theirs", to: theirs)
    unlink(path)
    symlink(theirs, path)
    stage.passMoment()
    try stage.emptyMemory()
    let second = try stage.path(of: "/a")
    unlink(second)
    mkdir(second, 0o755)
    try write("theirs", to: second + "/theirs")
    stage.passMoment()
    try stage.emptyMemory()
    _ = try stage.path(of: "/a")
    #expect(read(theirs) == "theirs")
    stage.pass(.seconds(60))
    #expect(stage.files.contains { $0.hasSuffix("/theirs") })
    #expect(CacheFiles.below(stage.cache).contains { read($0) == "theirs" })
  }

  @Test func `a link in place of a subdirectory is not followed`() throws {
    let (stage, path) = try storedPicture()
    let victim = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    rename(victim, stage.home + "/elsewhere")
    symlink(stage.home + "/elsewhere", victim)
    stage.passMoment()
    let before = CacheFiles.below(stage.home + "/elsewhere")
    try stage.emptyMemory()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("network"))
    let fresh = try #require(line["path"]?.string)
    #expect(fresh != path && readBytes(fresh) == png(seed: 1))
    #expect(CacheFiles.kind(of: victim) == S_IFDIR)
    try stage.purge()
    stage.pass(.seconds(60))
    #expect(!CacheFiles.exists(fresh))
    #expect(CacheFiles.below(stage.home + "/elsewhere") == before)
  }
}
