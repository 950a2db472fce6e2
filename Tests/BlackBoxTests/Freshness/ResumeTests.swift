import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Bodies that break off and are continued, as a client sees it.
struct ResumeTests {
  private static let tag = "\"1\""
  private static let headers = [("ETag", tag), ("Accept-Ranges", "bytes")]
  private static let whole = OriginAnswer.ranged(png(1_000), tag: tag)
  private static let broken = OriginAnswer.cut(png(1_000), after: 600, headers: headers)

  @Test func `an interrupted body is continued by the next fetch`() throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, Self.whole)
    #expect(try stage.outcome("/a") == "truncated")
    let line = try stage.fetch("/a")
    #expect(try readBytes(#require(line["path"]?.string)) == png(1_000))
    #expect(stage.ranges("/a") == [nil, "bytes=600-"])
    #expect(stage.origin.requests("/a").last?.header("if-range") == Self.tag)
    #expect(try stage.stats("downloads", "resumed") == 1)
    #expect(try stage.stats("downloads", "bytes_received") == 400)
  }

  @Test func `an interrupted body is dropped when memory is short`() throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, Self.whole)
    #expect(try stage.outcome("/a") == "truncated")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","events":["pressure"]}
      < {"ok":true}
      """#, on: listener)
    stage.daemon.signal(SIGUSR1)
    try stage.play(#"< {"event":"pressure","source":"signal"}"#, on: listener)
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    #expect(stage.ranges("/a") == [nil, nil])
  }

  @Test func `an interrupted body is continued by its own retry`() throws {
    let stage = try Stage("Downloads.Retries=1")
    stage.origin.plan("/a", Self.broken, Self.whole)
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    let (counts, line) = try stage.progress()
    #expect(counts == [0, 600, 1_000], "\(counts)")
    #expect(line.outcome == "network" && line["bytes"]?.integer == 1_000)
    #expect(stage.ranges("/a") == [nil, "bytes=600-"])
    #expect(try stage.stats("downloads", "retries") == 1)
    #expect(try stage.stats("downloads", "resumed") == 1)
  }

  @Test func `progress continues at the size of the kept part`() throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, Self.whole)
    #expect(try stage.outcome("/a") == "truncated")
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    let (counts, line) = try stage.progress()
    #expect(counts == [0, 600, 1_000], "\(counts)")
    #expect(line["bytes"]?.integer == 1_000)
  }

  @Test func `a cancelled fetch is continued by the next`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .stalls(png(1_000), after: 600, headers: Self.headers), Self.whole)
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(receipt)","progress":true}
      < {"id":1,"event":"progress","received":0,"expected":1000}
      > {"cmd":"cancel","id":2,"receipt":"\#(receipt)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":2,"ok":true}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/a"}
      < {"id":3,"ok":true,"source":"network","bytes":1000}
      """#)
    #expect(stage.ranges("/a").count == 2)
    #expect(stage.ranges("/a").last??.hasPrefix("bytes=") == true)
  }

  @Test func `an impossible range is answered by a fetch of the whole picture`() throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, .status(416), .picture(png(1_000)))
    #expect(try stage.outcome("/a") == "truncated")
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    #expect(stage.ranges("/a") == [nil, "bytes=600-", nil])
    #expect(try stage.stats("downloads", "resumed") == 0)
  }

  @Test func `a changed picture is fetched as a whole`() throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, .ranged(png(2_000, seed: 7), tag: "\"2\""))
    #expect(try stage.outcome("/a") == "truncated")
    let line = try stage.fetch("/a")
    #expect(try readBytes(#require(line["path"]?.string)) == png(2_000, seed: 7))
    #expect(try stage.stats("downloads", "resumed") == 0)
    #expect(try stage.stats("downloads", "bytes_received") == 2_000)
  }

  @Test(arguments: [
    [("ETag", "W/\"1\""), ("Accept-Ranges", "bytes")], [("ETag", "\"1\"")],
    [("ETag", "\"1\""), ("Accept-Ranges", "none")], [("Accept-Ranges", "bytes")],
    [("ETag", "\"1\""), ("Accept-Ranges", "bytes"), ("Cache-Control", "no-store")],
  ])
  func `a picture without a strong validator is fetched as a whole`(headers: [(String, String)])
    throws
  {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", .cut(png(1_000), after: 600, headers: headers), Self.whole)
    #expect(try stage.outcome("/a") == "truncated")
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    #expect(stage.ranges("/a") == [nil, nil])
  }

  @Test(arguments: [#""cache":"no-store""#, #""store":"none""#])
  func `a request that keeps nothing leaves no partial body`(fields: String) throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, Self.whole)
    #expect(try stage.outcome("/a", fields) == "truncated")
    #expect(try stage.outcome("/a") == "network")
    #expect(stage.ranges("/a") == [nil, nil])
  }

  @Test(arguments: [#""tier":"all""#, #""tier":"memory""#])
  func `a purge of everything drops partial bodies as well`(filter: String) throws {
    let stage = try Stage("Downloads.Retries=0")
    stage.origin.plan("/a", Self.broken, Self.whole)
    #expect(try stage.outcome("/a") == "truncated")
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true}
      """#)
    #expect(try stage.outcome("/a") == "network")
    #expect(stage.ranges("/a") == [nil, nil])
  }
}

extension Stage {
  fileprivate func ranges(_ path: String) -> [String?] {
    origin.requests(path).map { $0.header("range") }
  }

  /// The counts of a fetch's progress events, each of them cumulative, and its last line.
  fileprivate func progress() throws -> (counts: [Int64], line: JSONValue) {
    var counts: [Int64] = []
    while true {
      let line = try client.receive()
      guard line["event"]?.string == "progress" else { return (counts, line) }
      let received = try #require(line["received"]?.integer)
      if let expected = line["expected"]?.integer { #expect(received <= expected) }
      counts.append(received)
    }
  }
}
