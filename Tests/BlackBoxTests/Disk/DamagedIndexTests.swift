import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite("An index that cannot be read") struct DamagedIndexTests {
  /// A cache of some pictures whose daemon has stopped, and the path of its index.
  private func stoppedStage(
    pictures: Int = 10, settings: String...
  ) throws -> (stage: DiskStage, index: String) {
    let stage = try DiskStage(settings + ["Disk.Lease=0s"])
    for number in 0..<pictures {
      stage.origin.plan("/\(number)", .picture(png(800 + number)))
      _ = try stage.path(of: "/\(number)")
    }
    #expect(stage.stop() == 0)
    return (stage, stage.cache + "/1/index.db")
  }

  /// It serves the right pictures, and in the end there is no file that no entry names.
  private func expectService(_ stage: DiskStage, pictures: Int = 10) throws {
    // Damage deep inside is met at any time, and then all begins anew once more.
    let isWhole = try becomes {
      for number in 0..<pictures {
        let path = try stage.path(of: "/\(number)")
        #expect(readBytes(path) == png(800 + number))
      }
      return try stage.agrees() && stage.count("entries") == pictures
    }
    #expect(isWhole, "\(stage.files) \(stage.log)")
    #expect(try stage.disk("state") == .string("ok"))
  }

  @Test func `an index cut at any place is begun anew`() throws {
    let (stage, index) = try stoppedStage(pictures: 3)
    let whole = try #require(readBytes(index))
    let cuts = [0, 1, 15, 16, 50, 60, 99, 100, 101, 511, 512, 1_000, 4_095, 4_096, 4_097, 8_192]
    for cut in cuts + [whole.count / 2, whole.count - 4_096, whole.count - 1] {
      try CacheFiles.overwrite(index, Array(whole.prefix(cut)))
      try stage.start()
      try expectService(stage, pictures: 3)
      try stage.restart()
      for number in 0..<3 { #expect(try stage.source(of: "/\(number)") == "disk", "cut at \(cut)") }
      #expect(stage.stop() == 0)
    }
  }

  @Test(arguments: ["garbage", "text", "another database", "from the future", "of long ago"])
  func `an index of somebody else is set aside`(kind: String) throws {
    let (stage, index) = try stoppedStage()
    var bytes = try #require(readBytes(index))
    switch kind {
    case "garbage":
      var noise = Noise(seed: 7)
      bytes = noise.bytes(50_000)
    case "text": bytes = Array("no index".utf8)
    case "another database": bytes.replaceSubrange(68..<72, with: [0, 0, 0, 7])
    case "from the future": bytes.replaceSubrange(60..<64, with: [0, 0, 0, 99])
    default: bytes.replaceSubrange(60..<64, with: [0, 0, 0, 0])
    }
    try CacheFiles.overwrite(index, bytes)
    try stage.start()
    try expectService(stage)
    #expect(readBytes(index + ".aside") == bytes)
  }

  /// Every page, not every byte: SQLite reads in pages.
  @Test func `an index with a page of noise serves nothing wrong`() throws {
    let (stage, index) = try stoppedStage(pictures: 3)
    let whole = try #require(readBytes(index))
    try CacheFiles.shell("cp -a \(stage.cache)/1 \(stage.home)/whole")
    for page in 0..<(whole.count / 4_096) {
      // An index that was in good order is not compared with files that another one has named.
      try CacheFiles.shell("rm -r \(stage.cache)/1 && cp -a \(stage.home)/whole \(stage.cache)/1")
      var bytes = whole
      var noise = Noise(seed: UInt64(page))
      bytes.replaceSubrange((page * 4_096 + 8)..<(page * 4_096 + 4_096), with: noise.bytes(4_088))
      try CacheFiles.overwrite(index, bytes)
      try stage.start()
      try expectService(stage, pictures: 3)
      #expect(stage.stop() == 0)
    }
  }

  @Test(arguments: ["index.db", "index.db-wal", "index.db-shm", "index.db*"])
  func `an index that is deleted while nothing runs is begun anew`(which: String) throws {
    let (stage, _) = try stoppedStage()
    try CacheFiles.shell("rm -f \(stage.cache)/1/\(which)")
    try stage.start()
    try expectService(stage)
  }

  @Test func `an index that is deleted after a crash is begun anew`() throws {
    let (stage, index) = try stoppedStage()
    try stage.start()
    stage.kill9()
    unlink(index)
    try stage.start()
    try expectService(stage)
  }

  @Test(arguments: ["directory", "link", "pipe"])
  func `what stands in the place of an index is moved aside`(kind: String) throws {
    let (stage, index) = try stoppedStage()
    unlink(index)
    let theirs = stage.home + "/theirs"
    try write("theirs", to: theirs)
    switch kind {
    case "directory": mkdir(index, 0o755)
    case "link": symlink(theirs, index)
    default: mkfifo(index, 0o600)
    }
    try stage.start()
    try expectService(stage)
    #expect(read(theirs) == "theirs")
    #expect(CacheFiles.kind(of: index) == S_IFREG)
  }
}
