import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What an origin sends beside its pictures is held within bounds, and counted.
struct HeldBytesTests {
  /// Headers of some sixty kilobytes, as an origin may send them.
  private static let large = (0..<60).map {
    ("X-Large-\($0)", String(repeating: "x", count: 1_000))
  }

  @Test func `remembered failures are counted`() throws {
    let stage = try CoreStage()
    #expect(try stage.stats("failures", "entries") == 0)
    #expect(try stage.stats("failures", "bytes") == 0)
    for number in 0..<10 { try stage.ask("/\(number)") }
    #expect(try stage.stats("failures", "entries") == 10)
    #expect(try stage.stats("failures", "bytes") > 10 * 300)
  }

  @Test func `a remembered failure holds a small part of the origin's answer`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: [("X-Why", "gone")] + Self.large))
    try stage.ask("/a")
    #expect(try stage.stats("failures", "bytes") < 4_000)
    let line = try stage.ask("/a", #""http":true"#)
    #expect(line.outcome == "http_status cached")
    #expect(line.header("x-why") == "gone")
  }

  @Test func `remembered failures are bounded in bytes`() throws {
    let stage = try CoreStage("Disk.Enabled=no", "Memory.Capacity=4M")
    let long = "/" + String(repeating: "u", count: 7_000)
    for number in 0..<1_000 { try stage.ask("\(long)\(number)") }
    #expect(try stage.stats("failures", "entries") < 700)
    #expect(try stage.stats("failures", "bytes") <= 4 << 20)
    #expect(try stage.outcome("\(long)999") == "http_status cached")
    #expect(try stage.outcome("\(long)0") == "http_status")
  }

  @Test func `outcomes that are kept count with the headers of their requests and answers`() throws {
    let stage = try CoreStage("Memory.Capacity=100K", "Memory.Preferred=10K", "Disk.Enabled=no")
    let sent = String(repeating: "s", count: 8_000)
    for number in 0..<3 {
      stage.origin.plan("/\(number)", .status(404, headers: Self.large))
      let receipt = "0000000\(number)-1111-4111-8111-111111111111"
      let fields =
        #""wait":false,"receipt":"\#(receipt)","headers":{"X-Sent":"\#(sent)"}"#
      #expect(try stage.ask("/\(number)", fields)["ok"]?.bool == true)
      stage.settle()
    }
    let waits = try (0..<3).map { number in
      try stage.client.ask(
        #"{"cmd":"wait","receipt":"0000000\#(number)-1111-4111-8111-111111111111"}"#
      ).failureCode
    }
    #expect(waits == ["unknown_receipt", "unknown_receipt", "http_status"])
  }

  @Test func `a shortage of memory frees remembered failures`() throws {
    let stage = try CoreStage()
    try stage.ask("/a")
    #expect(try stage.stats("failures", "entries") == 1)
    stage.core.parts.pictures.emptyMemory { _ in }
    stage.settle()
    #expect(try stage.stats("failures", "entries") == 0)
    #expect(try stage.stats("failures", "bytes") == 0)
    #expect(try stage.outcome("/a") == "http_status")
  }

  @Test(arguments: HitTier.allCases)
  func `a picture is kept with a bounded part of its origin's answer`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .conditional(
        png(1_000), tag: "\"1\"", headers: Self.large + [("Cache-Control", "max-age=60")]))
    try stage.fetch("/a")
    #expect(try stage.stats("memory", "bytes") < 20_000)
    try stage.leave(in: tier)
    let line = try stage.ask("/a", #""http":true"#)
    #expect(line.outcome == tier.rawValue)
    #expect(line.header("etag") == "\"1\"" && line.header("cache-control") == "max-age=60")
    #expect(line.header("x-large-0") != nil && line.header("x-large-59") == nil)
    #expect(try stage.outcome("/a", #""cache":"no-cache""#) == "revalidated")
  }

  @Test func `a picture is not kept where the headers that decide about it have no room`() throws {
    let stage = try CoreStage()
    let names =
      (0..<1_000).map { "x-\($0)" }.joined(separator: ", ") + String(repeating: ",", count: 2_000)
    stage.origin.plan("/a", .picture(png(), headers: [("Vary", names)]))
    #expect(try stage.ask("/a")["path"] == .null)
    #expect(try stage.outcome("/a") == "network")
  }
}
