import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Bodies that break off and are continued, as a client sees it. What is continued, and where, is tested with the engine.
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
