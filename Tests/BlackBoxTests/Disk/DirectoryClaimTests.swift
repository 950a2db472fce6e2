import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite("A cache directory that cannot be had") struct DirectoryClaimTests {
  /// Starts a daemon that must refuse to, and answers its exit code and what it said.
  private func refusal(_ stage: DiskStage) throws -> (code: CInt, text: String) {
    try stage.spawn()
    let code = stage.waitForEnd()
    return (code, stage.log)
  }

  @Test func `is in use by another daemon, which goes on`() throws {
    let first = try DiskStage()
    first.origin.plan("/a", .picture(png()))
    let path = try first.path(of: "/a")
    for _ in 0..<3 {
      let second = try DiskStage(directory: first.cache, starts: false)
      let (code, text) = try refusal(second)
      #expect(code == EX_UNAVAILABLE)
      #expect(text.contains("\(first.pid)") && text.contains(first.cache), "\(text)")
      #expect(text.split(separator: "\n").count == 1, "\(text)")
    }
    try first.emptyMemory()
    let line = try first.fetch("/a")
    #expect(line["source"] == .string("disk") && line["path"] == .string(path))
    #expect(try becomes { try first.agrees() })
    // Once the first has gone, however it went, another may have it.
    first.kill9()
    let third = try DiskStage(directory: first.cache)
    try third.waitUntilLoaded()
    #expect(try third.count("entries") == 1)
  }

  static let unsafe: [(setup: String, word: String)] = [
    ("mkdir CACHE; chown 65534 CACHE", "belongs to user 65534"),
    ("mkdir CACHE; chmod 777 CACHE", "0777"),
    ("mkdir CACHE; chmod 775 CACHE", "0775"),
    ("mkdir CACHE.real; ln -s CACHE.real CACHE", "symbolic link"),
    ("ln -s /nowhere CACHE", "symbolic link"),
    ("echo theirs >CACHE", "not a directory"),
    ("mkfifo CACHE", "not a directory"),
    ("mkdir CACHE; mkdir CACHE/lock", "regular file"),
  ]

  @Test(.enabled(if: geteuid() == 0), arguments: unsafe)
  func `is not safe, which one sentence says`(setup: String, word: String) throws {
    let stage = try DiskStage(starts: false)
    try CacheFiles.shell(
      setup.split(separator: "CACHE", omittingEmptySubsequences: false)
        .joined(separator: stage.cache))
    let before = CacheFiles.below(stage.home)
    let (code, text) = try refusal(stage)
    #expect(code == EX_CONFIG)
    #expect(text.contains(stage.cache) && text.contains(word), "\(text)")
    #expect(text.split(separator: "\n").count == 1, "\(text)")
    let daemons = ["/log", "/imgd.sock", "/imgd.sock.lock"].map { stage.home + $0 }
    #expect(CacheFiles.below(stage.home).filter { !daemons.contains($0) } == before)
  }

  @Test func `is not there, and is made with its parent`() throws {
    let home = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(home) }
    let stage = try DiskStage(directory: home + "/var/imgd")
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.path(of: "/a").hasPrefix(home + "/var/imgd/1/"))
    #expect(CacheFiles.status(of: home + "/var/imgd")?.st_mode == S_IFDIR | 0o750)
  }

  @Test func `of another version is left as it is`() throws {
    let stage = try DiskStage(starts: false)
    try CacheFiles.shell("mkdir -p -m 750 \(stage.cache)/2/a; echo x >\(stage.cache)/2/a/b")
    try stage.start()
    stage.origin.plan("/a", .picture(png()))
    _ = try stage.path(of: "/a")
    try stage.purge()
    try stage.restart()
    #expect(read(stage.cache + "/2/a/b") == "x\n")
  }
}
