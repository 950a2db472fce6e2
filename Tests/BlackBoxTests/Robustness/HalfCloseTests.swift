import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// "No more requests": what was asked is answered, and then the daemon closes.
@Suite struct HalfCloseTests {
  private static let daemon = Result { try DaemonProcess() }

  @Test func withNothingPendingItClosesAtOnce() throws {
    let client = try Self.daemon.get().connect()
    client.halfClose()
    #expect(try client.isClosedByDaemon())
  }

  @Test func afterTheLastAnswerItCloses() throws {
    let client = try Self.daemon.get().connect()
    try client.send(#"{"cmd":"ping","id":1}"#, #"{"cmd":"ping","id":2}"#)
    client.halfClose()
    #expect(try client.receive(2).map { $0["id"]?.integer } == [1, 2])
    #expect(try client.isClosedByDaemon())
  }

  @Test func whileWorkIsPendingSpacesComeFourTimesASecond() throws {
    let origin = try OriginServer()
    let gate = Gate()
    origin.plan("/slow.png", .held(at: gate, then: .picture(TestPicture.png(bytes: 500))))
    let client = try RawClient(try Self.daemon.get())
    client.say(#"{"cmd":"fetch","url":"\#(origin.url("/slow.png"))"}"#)
    let began = ContinuousClock.now
    client.halfClose()
    var spaces = 0
    var pauses: [Duration] = []
    while spaces < 6 {
      let last = ContinuousClock.now
      let part = try #require(client.take())
      try #require(!part.isEmpty && part.allSatisfy { $0 == UInt8(ascii: " ") })
      spaces += part.count
      pauses.append(.now - last)
    }
    // A busy machine lets the test look late, but never early.
    #expect(ContinuousClock.now - began >= .milliseconds(250) * spaces, "they cost a wake-up each")
    let shortest = try #require(pauses.min())
    #expect(shortest < .milliseconds(490), "socat gives up after half a second")
    gate.open()
    let rest = client.takeAll()
    #expect(lineCount(rest) == 1)
    let text = String(decoding: rest.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
    #expect(text.hasPrefix(#"{"ok":true"#))
  }

  @Test func withoutHalfCloseThereAreNoSpaces() throws {
    let origin = try OriginServer()
    origin.plan("/hangs.png", .silence)
    let client = try RawClient(try Self.daemon.get())
    client.say(#"{"cmd":"fetch","url":"\#(origin.url("/hangs.png"))"}"#)
    origin.waitForRequests("/hangs.png")
    #expect(client.take(within: 600) == nil)
  }

  @Test func aCollectorIsServedBeforeTheClose() throws {
    let origin = try OriginServer()
    let gate = Gate()
    origin.plan("/later.png", .held(at: gate, then: .picture(TestPicture.png(bytes: 500))))
    let daemon = try Self.daemon.get()
    let first = try daemon.connect()
    let accepted = try first.ask(
      #"{"cmd":"fetch","url":"\#(origin.url("/later.png"))","wait":false}"#)
    let receipt = try #require(accepted["receipt"]?.string)
    let collector = try daemon.connect()
    try collector.send(#"{"cmd":"wait","receipt":"\#(receipt)"}"#)
    collector.halfClose()
    gate.waitUntilReached()
    gate.open()
    #expect(try collector.receive()["ok"]?.bool == true)
    #expect(try collector.isClosedByDaemon())
  }

  @Test func aSubscriberGoesOnHearing() throws {
    let daemon = try DaemonProcess()
    let subscriber = try daemon.connect()
    try subscriber.send(#"{"cmd":"subscribe","events":["config"]}"#)
    subscriber.halfClose()
    #expect(try subscriber.receive()["ok"]?.bool == true)
    _ = try daemon.connect().ask(#"{"cmd":"reload"}"#)
    #expect(try subscriber.receive()["event"]?.string == "config")
  }

  @Test func aFullCloseAbortsWhatIsNotDetached() throws {
    let origin = try OriginServer()
    origin.plan("/own.png", .silence)
    origin.plan("/detached.png", .silence)
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    client.say(#"{"cmd":"fetch","url":"\#(origin.url("/own.png"))"}"#)
    client.say(#"{"cmd":"fetch","url":"\#(origin.url("/detached.png"))","detach":true}"#)
    origin.waitForRequests("/own.png")
    origin.waitForRequests("/detached.png")
    client.vanish()
    #expect(origin.waitForOpenConnections(1))
    #expect(try witness.waits(for: "downloads", "active", toBe: 1))
    let left = try witness.ask(#"{"cmd":"cancel","all":true}"#)
    #expect(left["cancelled"]?.integer == 1)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func aFullCloseAfterAHalfCloseCancelsToo() throws {
    let origin = try OriginServer()
    origin.plan("/own.png", .silence)
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    client.say(#"{"cmd":"fetch","url":"\#(origin.url("/own.png"))"}"#)
    client.halfClose()
    origin.waitForRequests("/own.png")
    client.vanish()
    #expect(origin.waitForOpenConnections(0))
    #expect(try witness.seesNothingLeft())
  }

  @Test func aLastWordIsHeard() throws {
    let origin = try OriginServer()
    origin.plan("/a.png", .picture(TestPicture.png(bytes: 500)))
    origin.plan("/hangs.png", .silence)
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    _ = try witness.ask(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#)
    let running = try witness.ask(
      #"{"cmd":"fetch","url":"\#(origin.url("/hangs.png"))","wait":false}"#)
    let receipt = try #require(running["receipt"]?.string)
    for line in [#"{"cmd":"purge"}"#, #"{"cmd":"cancel","receipt":"\#(receipt)"}"#] {
      let client = try RawClient(daemon)
      client.say(line)
      client.vanish()
    }
    #expect(try witness.waits(for: "memory", "entries", toBe: 0))
    #expect(try witness.waits(for: "downloads", "active", toBe: 0))
  }

  @Test func aLongFarewellIsHeardToItsEnd() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let before = try witness.count("clients", "commands")
    let client = try RawClient(daemon)
    // More than one read brings, from a client that is gone before the first answer.
    let padding = String(repeating: "x", count: 200)
    let line = #"{"cmd":"ping","x_padding":"\#(padding)"}"#
    client.say((0..<700).map { _ in line }.joined(separator: "\n"))
    client.vanish()
    #expect(try witness.becomes { try witness.count("clients", "commands") - before >= 700 })
    #expect(try witness.seesNothingLeft())
  }
}
