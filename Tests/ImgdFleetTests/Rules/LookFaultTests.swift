import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// What looks make of answers that they should not get.
struct LookFaultTests {
  private let stage: DeskStage
  private let picture = TestedPicture()

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
  }

  private var server: PlannedServer { stage.server }

  @Test(
    arguments: [
      .number(1), .nothing, .list([]), .list([.bytes([35])]), .word("OK"), .failure("ERR no"),
      .failure(""),
    ] as [RedisReply])
  func `a value that is no string fails the look, and leaves no claim`(reply: RedisReply) {
    server.plan("GETRANGE", reply)
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == ["failed"])
    #expect(server.commands("release").count == 1)
    #expect(server.commands("discard").isEmpty, "it may be in order")
  }

  @Test(
    arguments: [
      .number(1), .bytes(Array("OK".utf8)), .list([]), .word("QUEUED"), .failure("ERR no"),
      .failure("OOM no"), .failure("WRONGTYPE no"),
    ] as [RedisReply])
  func `a claim that is not granted in so many words is none`(reply: RedisReply) {
    server.plan("SET", reply)
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == ["nothing"])
    stage.pass(.seconds(4))
    stage.order(.renew(serial: serial))
    #expect(server.commands("renew").isEmpty && server.commands("release").isEmpty)
  }

  @Test(
    arguments: [
      ("GETRANGE", "LOADING x", .down, "failed"), ("GETRANGE", "NOPERM x", .refused, "failed"),
      ("SET", "NOAUTH x", .refused, "failed"), ("SET", "MOVED 1 h", .refused, "failed"),
      ("SET", "READONLY x", .readOnly, "nothing"), ("SET", "MISCONF x", .readOnly, "nothing"),
    ] as [(String, String, FleetState.Phase, String)])
  func `an error that is about the server ends its use, or that it is written to`(
    command: String, text: String, phase: FleetState.Phase, wanted: String
  ) throws {
    server.plan(command, .failure(text))
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == [wanted])
    try stage.waitForState(phase)
  }

  @Test(
    arguments: [
      .text("hello"), .text("IMGF"), .bytes([0]), .failure("WRONGTYPE of somebody else"),
    ] as [RedisReply])
  func `what is of no use is deleted, and looked for once more`(reply: RedisReply) throws {
    server.planOnce("GETRANGE", reply, .bytes([]))
    let serial = stage.begin(picture.digest)
    _ = try defect(of: serial)
    #expect(stage.answers(to: serial) == ["claimed"])
    #expect(server.commands("discard").map(\.arguments) == [[reply.text ?? ""]])
  }

  @Test func `what is of no use twice is nothing`() throws {
    server.plan("GETRANGE", .text("hello"))
    let serial = stage.begin(picture.digest)
    #expect(try defect(of: serial) == .foreign && defect(of: serial) == .foreign)
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(server.commands("discard").count == 1)
  }

  @Test func `a look that only reads deletes a defect, and finds nothing`() throws {
    server.planOnce("GETRANGE", .bytes([1, 2, 3]))
    let serial = stage.begin(picture.digest, claims: false)
    #expect(try defect(of: serial) == .foreign)
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(server.commands("discard").count == 1 && server.commands("SET").isEmpty)
  }

  @Test func `a picture that is larger than this host takes is left to the others`() throws {
    let large = TestedPicture(count: 200_000)
    stage.order(.apply(maxObject: 100_000, timeout: .milliseconds(50)))
    // The server gives no more than was asked for.
    let most = FleetValue.mostBytes(picture: 100_000)
    server.plan("GETRANGE", .bytes(Array((large.value().bytes ?? []).prefix(most + 1))))
    let serial = stage.begin(large.digest)
    #expect(server.commands("GETRANGE").map(\.arguments) == [["0", String(most)]])
    #expect(stage.answers(to: serial) == ["found for others"])
    #expect(server.commands("discard").isEmpty && server.commands("release").count == 1)
  }

  @Test func `a picture to be confirmed that cannot be read is fetched by its host`() {
    server.plan("GETRANGE", .failure("WRONGTYPE x"))
    let serial = stage.confirm(picture.digest, stamp: 1)
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(server.commands("release").count == 1)
  }

  @Test func `a look for which there is no room fails`() {
    server.room = 0
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == ["failed"])
  }

  private func defect(of serial: UInt64) throws -> FleetDefect {
    try stage.next { if case .defect(serial, let defect) = $0 { defect } else { nil } }
  }
}
