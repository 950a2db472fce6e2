import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

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

  @Test func `what is flipped is found by its checksum after an unclean stop`() throws {
    let (stage, path) = try storedPicture()
    stage.kill9()
    let flipped = try #require(FileDamage.all.first { $0.needsChecksum })
    try flipped.damage(path)
    try stage.start()
    try expectRecovery(stage, path, flipped)
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
    #expect(try becomes { !CacheFiles.exists(path) })
    try stage.restart()
    for file in foreign { #expect(read(file) == "theirs", "\(file)") }
  }
}
