import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The disk tier as clients see it.
struct DiskContentTests {
  static let formats: [(suffix: String, bytes: [UInt8])] = [
    ("png", png(3_000)), ("jpg", jpeg(3_000)), ("gif", TestPicture.gif(width: 9, height: 7)),
    ("webp", TestPicture.webp(width: 9, height: 7)),
  ]

  @Test(arguments: formats)
  func `a path leads to a file of exactly the origin's bytes`(
    suffix: String, bytes: [UInt8]
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(bytes, type: "text/plain"))
    let first = try stage.fetch("/a")
    let path = try #require(first["path"]?.string)
    #expect(first["source"] == .string("network") && first["deliver_note"] == nil)
    #expect(path.hasPrefix(stage.cache + "/1/") && path.hasSuffix("." + suffix))
    #expect(readBytes(path) == bytes)
    let status = try #require(CacheFiles.status(of: path))
    #expect(status.st_mode == S_IFREG | 0o640)
    let second = try stage.fetch("/a")
    #expect(second["source"] == .string("memory") && second["path"] == .string(path))
  }

  @Test func `a picture that memory has lost comes from disk and is in memory again`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let path = try stage.path(of: "/a")
    try stage.emptyMemory()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("disk") && line["path"] == .string(path))
    #expect(try stage.count("hits") == 1)
    #expect(try stage.source(of: "/a") == "memory")
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a picture and its path outlive the process`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let path = try stage.path(of: "/a")
    try stage.restart()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("disk") && line["path"] == .string(path))
    #expect(readBytes(path) == png())
    #expect(stage.origin.count("/a") == 1)
  }

  /// Each with further fields of the fetch, and the origin's headers.
  static let unkept: [(fields: String, headers: [(String, String)])] = [
    ("", [("Cache-Control", "no-store")]),
    ("", [("Cache-Control", "private, max-age=1000")]),
    (#""headers":{"Authorization":"Bearer x"}"#, []),
    (#""headers":{"Cookie":"a=b"}"#, []),
    (#""store":"memory""#, []),
    (#""store":"none""#, []),
    (#""cache":"no-store""#, []),
  ]

  @Test(arguments: unkept)
  func `a picture that must not be kept leaves no file`(
    fields: String, headers: [(String, String)]
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: headers))
    let line = try stage.fetch("/a", fields)
    #expect(line["path"] == .null)
    #expect(line["deliver_note"]?.string?.isEmpty == false)
    #expect(
      try stage.fetch("/a", (fields.isEmpty ? "" : fields + ",") + #""deliver":"none""#)["bytes"]
        == .integer(1_000))
    #expect(stage.files.isEmpty)
    #expect(try stage.count("entries") == 0)
    try stage.restart()
    #expect(stage.files.isEmpty)
  }

  @Test func `a fetch with store disk keeps nothing in memory`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let stored = #""store":"disk""#
    #expect(try stage.source(of: "/a", stored) == "network")
    for _ in 0..<3 { #expect(try stage.source(of: "/a", stored) == "disk") }
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":0,"bytes":0},"disk":{"entries":1,"hits":3}}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"disk","format":"png","bytes":1000}
      """#)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test(arguments: ["inline", "fd", "none"])
  func `a picture from disk is delivered in every form`(form: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(5_000)))
    try stage.fetch("/a", #""deliver":"\#(form)""#)
    try stage.restart()
    let line = try stage.fetch("/a", #""deliver":"\#(form)""#)
    #expect(line["source"] == .string("disk") && line["path"] == nil)
    switch form {
    case "inline": #expect(Base64.decode(line["data"]?.string ?? "") == png(5_000))
    case "fd":
      let descriptor = try #require(stage.client.takeDescriptor())
      defer { close(descriptor) }
      #expect(contents(of: descriptor) == png(5_000))
    default: #expect(line["data"] == nil && line["fds"] == nil)
    }
  }

  @Test func `status and headers come from disk unchanged`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .picture(png(), headers: [("ETag", "\"1\""), ("X-Two", "one"), ("X-Two", "two")]))
    let before = try stage.fetch("/a", #""http":true"#)
    try stage.restart()
    let after = try stage.fetch("/a", #""http":true"#)
    #expect(after["source"] == .string("disk"))
    for field in ["http", "width", "height", "frames", "format", "type"] {
      #expect(after[field] != nil && after[field] == before[field], "\(field)")
    }
    #expect(after["http"]?["headers"]?["x-two"] == .string("one, two"))
  }

  @Test func `a stale picture from disk is confirmed and keeps its file`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]))
    let path = try stage.path(of: "/a")
    try stage.restart()
    let line = try stage.fetch("/a")
    #expect(line["source"] == .string("revalidated") && line["path"] == .string(path))
    #expect(stage.files == [path])
  }

  @Test func `identifiers have entries and files of their own`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    let first = try stage.path(of: "/a")
    let second = try stage.path(of: "/a", #""identifier":"x""#)
    try stage.restart()
    #expect(try stage.path(of: "/a", #""identifier":"x""#) == second)
    #expect(try stage.path(of: "/a") == first)
    #expect(readBytes(first) == png(1_000) && readBytes(second) == png(2_000))
  }

  @Test func `query and entries report the entries on disk`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let path = try stage.path(of: "/a", #""identifier":"i","tags":["t","u"],"ttl":1000"#)
    try stage.restart()
    let shown =
      #""format":"png","type":"image/png","width":16,"height":16,"frames":1,"bytes":1000,"#
      + #""age":"…","fresh_for":"…","stored":"…","tags":["t","u"],"path":"\#(path)""#
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a","identifier":"i"}
      < {"ok":true,"tier":"disk",\#(shown)}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      > {"cmd":"entries","tier":"disk"}
      < {"ok":true,"entries":[{"url":"ORIGIN/a","identifier":"i",\#(shown)}],"cursor":null}
      > {"cmd":"stats"}
      < {"ok":true,"disk":{"hits":0,"misses":0}}
      """#)
  }

  @Test func `entries come in pages, each entry once`() throws {
    let stage = try CoreStage()
    for number in 0..<25 {
      let path = "/\(number % 2 == 0 ? "even" : "odd")/\(number)"
      stage.origin.plan(path, .picture(png(600 + number)))
      try stage.fetch(path)
    }
    try stage.restart()
    for limit in [1, 7, 25, 1_000] {
      let all = try stage.entries(limit: limit).compactMap { $0["path"]?.string }
      #expect(all.count == 25 && Set(all) == stage.files, "pages of \(limit)")
    }
    let odd = try stage.entries(limit: 5, prefix: "/odd/")
    #expect(odd.count == 12)
    #expect(odd.allSatisfy { $0["url"]?.string?.hasPrefix(stage.origin.url("/odd/")) == true })
    #expect(try stage.entries(prefix: "/neither").isEmpty)
  }

  @Test func `entries on disk come as they were stored, behind any number`() throws {
    let stage = try CoreStage()
    for number in [7, 2, 9, 4, 1, 8] {
      stage.origin.plan("/\(number)", .conditional(png(), tag: "\"1\""))
      try stage.fetch("/\(number)")
    }
    // One that is confirmed keeps its place, one that is fetched anew goes to the end.
    #expect(try stage.source(of: "/2", #""cache":"no-cache""#) == "revalidated")
    #expect(try stage.source(of: "/9", #""cache":"reload""#) == "network")
    let order = ["/7", "/2", "/4", "/1", "/8", "/9"].map { stage.origin.url($0) }
    // The first of the numbers that are in the names of the files.
    let numbers = stage.files.compactMap { name in
      name.split { "-.".contains($0) }.dropLast().last.flatMap { Int($0, radix: 16) }
    }
    let first = try #require(numbers.min())
    for _ in 0..<2 {
      var shown: [Int] = []
      for place in (first - 1)..<(first + 39) {
        let page = try stage.page(behind: "\(place)")
        #expect(page == Array(order.suffix(page.count)), "behind \(place)")
        shown.append(page.count)
      }
      #expect(shown.first == 6 && shown.last == 0 && shown == shown.sorted(by: >))
      #expect(Set(shown) == Set(0...6))
      for place in ["4294967295", "4294967296"] { #expect(try stage.page(behind: place) == []) }
      try stage.restart()
    }
  }

  @Test func `stats counts exactly the files on the disk`() throws {
    let stage = try CoreStage("Disk.Lease=0s")
    for number in 0..<20 {
      stage.origin.plan("/\(number)", .picture(png(700 * (number + 1))))
      try stage.fetch("/\(number)")
    }
    func expectAgreement() throws {
      let blocks = stage.files.compactMap { CacheFiles.status(of: $0)?.st_blocks }
      #expect(try stage.count("bytes") == Int(blocks.reduce(0, +)) * 512)
      #expect(try stage.count("entries") == stage.files.count)
      #expect(try stage.count("files") == stage.files.count)
    }
    try expectAgreement()
    #expect(try stage.count("insertions") == 20)
    try stage.fetch("/3", #""cache":"reload""#)
    #expect(try stage.count("replacements") == 1 && stage.count("entries") == 20)
    try stage.restart()
    #expect(try stage.count("entries") == 20)
    stage.settle()
    #expect(stage.files.count == 20)
    try expectAgreement()
  }
}
