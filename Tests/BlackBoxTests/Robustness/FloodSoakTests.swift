import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

// Pipelines without end. The numbers are those of a debug build on a busy machine: a million lines
// would only take longer, and every limit is met many times over with these.

/// What clients that send very much cost in memory, and others in time.
@Suite(.serialized, .slow) struct FloodSoakTests {
  private static let megabyte = 1 << 20
  private static let pings = 100_000

  @Test func `a hundred thousand pipelined pings are answered`() throws {
    let daemon = try DaemonProcess()
    let client = try RawClient(daemon)
    let before = daemon.residentBytes
    let answers = flood(client, with: #"{"cmd":"ping"}"#, times: Self.pings)
    #expect(answers == Self.pings)
    #expect(daemon.residentBytes - before < 8 * Self.megabyte)
  }

  @Test func `twenty thousand pipelined hits are answered`() throws {
    let origin = try OriginServer()
    origin.plan("/a.png", .picture(TestPicture.png(bytes: 2_000)))
    let daemon = try DaemonProcess()
    let fetch = #"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#
    #expect(try daemon.connect().ask(fetch)["ok"]?.bool == true)
    let client = try RawClient(daemon)
    let before = daemon.residentBytes
    #expect(flood(client, with: fetch, times: 20_000) == 20_000)
    #expect(daemon.residentBytes - before < 8 * Self.megabyte)
    #expect(origin.count("/a.png") == 1)
  }

  /// Sends a line so often, reads what comes meanwhile, and counts the answers.
  private func flood(_ client: RawClient, with line: String, times: Int) -> Int {
    let block = Array(String(repeating: line + "\n", count: 1_000).utf8)
    var rest = block[...]
    var blocks = times / 1_000
    var answers = 0
    while answers < times {
      if blocks > 0 {
        rest = rest.dropFirst(client.push(rest) ?? 0)
        if rest.isEmpty {
          blocks -= 1
          rest = block[...]
        }
      }
      guard let part = client.take(within: blocks > 0 ? 0 : Patience.milliseconds) else {
        if blocks > 0 { continue }
        return answers
      }
      guard !part.isEmpty else { return answers }
      answers += lineCount(part)
    }
    return answers
  }

  @Test(arguments: [#"{"cmd":"ping"}"#, #"{"cmd":"config"}"#, #"{"cmd":"nothing"}"#])
  func `a client that never reads is not read from`(line: String) throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let before = daemon.residentBytes
    let client = try RawClient(daemon)
    let block = Array(String(repeating: line + "\n", count: 1_000).utf8)
    let limit = 64 * Self.megabyte
    #expect(client.pushUntilRefused(block, atMost: limit) < limit)
    #expect(daemon.residentBytes - before < 8 * Self.megabyte)
    #expect(try witness.isAnsweredSoon())
    client.vanish()
    #expect(try witness.seesNothingLeft())
  }

  @Test func `others are answered while one floods`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    let block = Array(String(repeating: "{\"cmd\":\"ping\"}\n", count: 1_000).utf8)
    var answers = 0
    for _ in 0..<100 {
      _ = client.push(block[...])
      #expect(try witness.isAnsweredSoon())
      answers += lineCount(client.take(within: 0) ?? [])
    }
    #expect(answers > 0)
  }

  @Test func `inline answers for who never reads stay within bounds`() throws {
    let origin = try OriginServer()
    let gate = Gate()
    origin.plan("/big.png", .held(at: gate, then: .picture(TestPicture.png(bytes: 200_000))))
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    let before = daemon.residentBytes
    for _ in 0..<150 {
      client.say(#"{"cmd":"fetch","url":"\#(origin.url("/big.png"))","deliver":"inline"}"#)
    }
    #expect(try becomes { try witness.ask(#"{"cmd":"list"}"#).jobCount == 150 })
    gate.open()
    #expect(try becomes { try witness.ask(#"{"cmd":"list"}"#).jobCount == 0 })
    #expect(daemon.residentBytes - before < 12 * Self.megabyte, "40 MB are owed")
    client.halfClose()
    #expect(lineCount(client.takeAll(1 << 20)) == 150)
  }

  @Test func `a line of ten megabytes is refused once and skipped`() throws {
    let daemon = try DaemonProcess()
    let client = try daemon.connect()
    let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    let before = daemon.residentBytes
    for _ in 0..<10 { try client.sendRaw(part) }
    #expect(daemon.residentBytes - before < 4 << 20)
    try client.sendRaw(Array("\n{\"cmd\":\"ping\",\"id\":1}\n".utf8))
    #expect(try client.receive().failureCode == "line_too_long")
    #expect(try client.receive()["id"]?.integer == 1)
    #expect(daemon.residentBytes - before < 4 << 20)
  }
}
