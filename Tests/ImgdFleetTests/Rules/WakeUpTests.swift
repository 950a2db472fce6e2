import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Messages of other hosts, while the clock stands: nobody looks by themselves.
struct WakeUpTests {
  private let stage: DeskStage
  private let picture = TestedPicture()

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
    stage.server.plan("GETRANGE", .text("#slow:1"))
    stage.server.plan("SET", .nothing)
  }

  private var server: PlannedServer { stage.server }
  private var channel: String { "imgd:w:\(picture.digest.hex)" }

  private func hold(_ digest: KeyDigest? = nil) throws -> UInt64 {
    let serial = stage.begin(digest ?? picture.digest)
    #expect(stage.answers(to: serial) == ["held"])
    return serial
  }

  private func count(_ name: String) -> Int { server.commands(name).count }

  @Test func `a message alone wakes those who wait`() throws {
    let serials = [try hold(), try hold()]
    server.plan("GETRANGE", picture.value())
    server.publish("1", in: channel)
    for serial in serials { #expect(stage.answers(to: serial) == ["found"]) }
  }

  @Test func `a message that there will be none is answered without a look`() throws {
    let serials = [try hold(), try hold()]
    server.publish("0", in: channel)
    for serial in serials { #expect(stage.answers(to: serial) == ["nothing"]) }
    #expect(count("GETRANGE") == 2)
  }

  @Test func `a message while an answer is on its way has the look repeated`() throws {
    let serial = try hold()
    server.keepSilent("GETRANGE")
    stage.pass(.milliseconds(25))
    server.publish("1", in: channel)
    #expect(count("GETRANGE") == 2)
    // It was read before the picture came.
    try server.answer(.text("#slow:1"), to: "GETRANGE")
    #expect(count("GETRANGE") == 3)
    server.plan("GETRANGE", picture.value())
    #expect(stage.answers(to: serial) == ["found"])
  }

  @Test func `what is no message about a picture that is waited for wakes nobody`() throws {
    let serial = try hold()
    let other = "imgd:w:\(TestedPicture("http://o/b").digest.hex)"
    let messages: [RedisReply] = [
      .list([.text("message"), .text(other), .text("0")]),
      .list([.text("subscribe"), .text(channel), .text("0")]),
      .list([.text("message"), .text(channel)]),
      .list([.text("message"), .number(1), .text("0")]), .list([]), .number(1), .nothing,
      .text("message"), .word("OK"), .failure("NOPERM this user has no permissions"),
    ]
    for message in messages { server.publish(message) }
    #expect(stage.answers(to: serial) == [])
    #expect(count("GETRANGE") == 1)
    server.publish(.list([.text("message"), .text(channel), .text("0")]))
    #expect(stage.answers(to: serial) == ["nothing"])
  }

  @Test func `a channel is listened to once, and as long as anybody waits`() throws {
    let (first, second) = (try hold(), try hold())
    let other = try hold(TestedPicture("http://o/b").digest)
    #expect(server.commands("SUBSCRIBE").map(\.keys) == [[channel], [otherChannel]])
    stage.order(.release(serial: first, removing: false))
    #expect(count("UNSUBSCRIBE") == 0)
    stage.order(.release(serial: second, removing: false))
    #expect(server.commands("UNSUBSCRIBE").map(\.keys) == [[channel]])
    stage.order(.release(serial: other, removing: false))
    #expect(count("UNSUBSCRIBE") == 2)
  }

  private var otherChannel: String { "imgd:w:\(TestedPicture("http://o/b").digest.hex)" }

  @Test func `the connection is closed when it has been of no use for ten seconds`() throws {
    stage.order(.release(serial: try hold(), removing: false))
    let first = try #require(server.wakeUps)
    stage.pass(.seconds(10) - .nanoseconds(1))
    let again = try hold()
    #expect(server.wakeUps === first && first.isOpen)
    stage.pass(.seconds(2))
    stage.order(.release(serial: again, removing: false))
    stage.pass(.seconds(10) - .nanoseconds(1))
    #expect(first.isOpen)
    stage.pass(.nanoseconds(1))
    #expect(!first.isOpen && server.wakeUps == nil)
    _ = try hold()
    #expect(server.wakeUps != nil)
  }

  @Test func `a broken connection is replaced after a second, and nobody fails of it`() throws {
    let serial = try hold()
    try server.end(server.wakeUps)
    stage.pass(.seconds(1) - .nanoseconds(1))
    _ = try hold(TestedPicture("http://o/b").digest)
    #expect(server.wakeUps == nil)
    stage.pass(.nanoseconds(1))
    _ = try hold(TestedPicture("http://o/c").digest)
    #expect(server.wakeUps != nil)
    #expect(server.commands("SUBSCRIBE").count { $0.keys == [channel] } == 2, "those who wait")
    server.publish("0", in: channel)
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(!stage.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test func `a host that cannot listen looks by itself`() throws {
    server.refusal = FleetTrouble(.down, "too many clients")
    let serial = try hold()
    server.plan("GETRANGE", picture.value())
    stage.pass(.milliseconds(25))
    #expect(stage.answers(to: serial) == ["found"])
  }
}
