import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

struct DiskLimitTests {
  /// Each takes 20 blocks of 4 KiB, whatever the file system adds.
  private static let each = 80_000

  private func filledStage(_ settings: [String], pictures: Int) throws -> CoreStage {
    let stage = try CoreStage(settings)
    for number in 0..<pictures {
      stage.origin.plan("/\(number)", .picture(png(Self.each, seed: UInt64(number))))
      try stage.fetch("/\(number)", #""deliver":"none","store":"disk""#)
      stage.settle()
      #expect(try stage.count("insertions") == number + 1)
    }
    return stage
  }

  /// The numbers of the pictures that the disk tier has.
  private func kept(by stage: CoreStage) throws -> [Int] {
    try stage.entries().compactMap { entry in
      entry["url"]?.string?.split(separator: "/").last.flatMap { Int($0) }
    }.sorted()
  }

  @Test func `the least recently used pictures are evicted above the capacity, down to the ratio`()
    throws
  {
    let settings = ["Disk.Capacity=\(10 * 81_920)", "Disk.TrimTo=60%"]
    let stage = try filledStage(settings, pictures: 10)
    #expect(try stage.count("evictions") == 0 && stage.count("entries") == 10)
    for number in [0, 3] {
      #expect(try stage.source(of: "/\(number)", #""deliver":"none","store":"disk""#) == "disk")
    }
    stage.origin.plan("/10", .picture(png(Self.each)))
    try stage.fetch("/10", #""deliver":"none""#)
    stage.settle()
    #expect(try stage.count("evictions") == 5)
    #expect(try kept(by: stage) == [0, 3, 7, 8, 9, 10])
    #expect(try stage.count("bytes") == 6 * 81_920)
    #expect(try stage.count("evicted_bytes") == 5 * 81_920)
    stage.settle()
    #expect(stage.files.count == 6)
  }

  @Test func `the order of use outlives the process`() throws {
    let settings = ["Disk.Capacity=\(5 * 81_920)", "Disk.TrimTo=60%"]
    let stage = try filledStage(settings, pictures: 5)
    try stage.restart()
    // Uses are told apart by whole seconds.
    stage.jump(.seconds(1))
    #expect(try stage.source(of: "/0", #""deliver":"none","store":"disk""#) == "disk")
    try stage.restart()
    stage.origin.plan("/5", .picture(png(Self.each)))
    try stage.fetch("/5", #""deliver":"none""#)
    stage.settle()
    #expect(try stage.count("evictions") == 3)
    let left = try kept(by: stage)
    #expect(left.count == 3 && left.contains(0) && left.contains(5), "\(left)")
  }

  @Test func `a picture larger than the capacity is delivered and not kept`() throws {
    let stage = try CoreStage("Disk.Capacity=50K")
    stage.origin.plan("/small", .picture(png(20_000)))
    stage.origin.plan("/large", .picture(png(100_000)))
    let small = try stage.path(of: "/small")
    let line = try stage.fetch("/large")
    #expect(line["path"] == .null && line["deliver_note"]?.string?.contains("larger") == true)
    #expect(stage.files == [small])
  }

  @Test func `nothing is stored when the file system has no free space to spare`() throws {
    let stage = try CoreStage("Disk.MinFree=100%")
    stage.origin.plan("/a", .picture(png()))
    for source in ["network", "memory"] {
      let line = try stage.fetch("/a")
      #expect(line["source"] == .string(source) && line["path"] == .null)
      #expect(line["deliver_note"]?.string?.contains("full") == true)
    }
    #expect(stage.files.isEmpty)
    #expect(try stage.count("write_errors") >= 1)
    #expect(try stage.disk("state") == .string("read-only"))
  }

  @Test func `a picture above the greatest age is fetched again, and its file is removed`() throws {
    let stage = try CoreStage("Disk.MaxAge=1s", "Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()))
    let path = try stage.path(of: "/a", #""store":"disk""#)
    // The sweep finds it without a request.
    stage.pass(.seconds(60))
    #expect(try stage.count("entries") == 0)
    #expect(!CacheFiles.exists(path))
    #expect(try stage.source(of: "/a", #""store":"disk""#) == "network")
  }

  @Test func `a handed-out path stays for its lease when its entry is purged`() throws {
    let stage = try CoreStage("Disk.Lease=6s")
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .picture(png()))
    let lent = try stage.path(of: "/a")
    try stage.fetch("/b", #""deliver":"none""#)
    stage.settle()
    #expect(stage.files.count == 2)
    #expect(try stage.purge() == 2)
    #expect(try stage.count("entries") == 0)
    stage.settle()
    #expect(stage.files == [lent])
    #expect(readBytes(lent) == png())
    stage.pass(.seconds(5))
    #expect(stage.files == [lent])
    stage.pass(.seconds(10))
    #expect(stage.files.isEmpty)
  }

  @Test func `the next process keeps a lease`() throws {
    let stage = try CoreStage("Disk.Lease=9s")
    stage.origin.plan("/a", .picture(png()))
    let lent = try stage.path(of: "/a")
    try stage.purge(#""url":"ORIGIN/a""#)
    try stage.restart()
    #expect(readBytes(lent) == png())
    stage.pass(.seconds(20))
    #expect(stage.files.isEmpty)
  }

  @Test func `a new picture has a new path, and the old path stays for its lease`() throws {
    let stage = try CoreStage("Disk.Lease=6s")
    stage.origin.plan("/a", .picture(png(1_000)), .picture(jpeg(2_000)))
    let old = try stage.path(of: "/a")
    let new = try stage.path(of: "/a", #""cache":"reload""#)
    #expect(old != new && new.hasSuffix(".jpg"))
    #expect(readBytes(old) == png(1_000) && readBytes(new) == jpeg(2_000))
    #expect(try stage.count("entries") == 1)
    stage.pass(.seconds(15))
    #expect(stage.files == [new])
  }

  @Test func `trimming skips handed-out files`() throws {
    let stage = try CoreStage("Disk.Capacity=\(3 * 81_920)", "Disk.TrimTo=34%")
    for number in 0..<4 {
      stage.origin.plan("/\(number)", .picture(png(Self.each, seed: UInt64(number))))
    }
    let lent = try stage.path(of: "/0")
    for number in 1..<4 { try stage.fetch("/\(number)", #""deliver":"none""#) }
    stage.settle()
    #expect(try stage.count("evictions") == 3)
    #expect(try kept(by: stage) == [0])
    #expect(readBytes(lent) == png(Self.each))
  }
}
