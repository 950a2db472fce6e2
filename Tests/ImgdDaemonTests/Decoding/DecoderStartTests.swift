import Glibc
import ImgdDecode
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// Decoders that do not come to work.
struct DecoderStartTests {
  private static let library = "the decoder cannot start: is libvips installed?"

  @Test func `without the program orders are told what is missing`() throws {
    let stage = try PoolStage(nil)
    let failure = try #require(try stage.answer().failure)
    #expect(failure.cause == .unavailable)
    #expect(failure.reason.hasPrefix("the decoder is not installed: there is no program /"))
  }

  @Test func `without its library the program is said to lack it`() throws {
    let stage = try PoolStage("finds-no-library")
    #expect(try stage.answer().failure == DecodeFailure(.unavailable, Self.library))
  }

  @Test func `what a person has to put right is not tried for each order`() throws {
    let stage = try PoolStage("finds-no-library")
    #expect(try stage.answer().failure?.cause == .unavailable)
    try stage.awaitNone()
    try stage.install("honest")
    let order = stage.begin()
    #expect(stage.answers(to: order).first?.failure?.reason == Self.library, "at once")
    stage.advance(by: DecoderStarts.lastingPause)
    #expect(try stage.answer().isPicture)
  }

  @Test func `as long as one decoder works, orders wait for it`() throws {
    let stage = try PoolStage(workers: 2)
    stage.begin("is silent")
    try stage.awaitWork()
    stage.uninstall()
    let order = stage.begin()
    #expect(stage.pool.workers.count == 2)
    try stage.turn("failed start") { stage.pool.workers.count == 1 }
    #expect(stage.answers(to: order).isEmpty && stage.pool.figures.queued == 1)
    stage.advance(by: .seconds(10))
    #expect(stage.answers(to: order).map(\.failure?.cause) == [.unavailable])
  }

  @Test func `a reload tries again`() throws {
    let stage = try PoolStage(nil)
    #expect(try stage.answer().failure?.cause == .unavailable)
    try stage.install("honest")
    stage.apply { _ in }
    #expect(try stage.answer().isPicture)
  }

  @Test(arguments: [
    ("ends", "the decoder cannot start: it ended with exit code 3"),
    ("says-nothing", "the decoder cannot start: it takes too long"),
    ("talks-nonsense", "the decoder cannot be used: it sent a message that makes no sense"),
    ("hangs-up", "the decoder cannot be used: it hung up"),
  ])
  func `what may have been chance is tried three times, and three times more after a pause`(
    name: String, reason: String
  ) throws {
    let stage = try PoolStage(name, workers: 4)
    let orders = (0..<3).map { _ in stage.begin() }
    var pids: Set<pid_t> = []
    try stage.turn("pause", passing: .milliseconds(100)) {
      pids.formUnion(stage.pids)
      return stage.isPaused
    }
    #expect(pids.count <= DecoderStarts.mostInARow)
    try stage.awaitNone()
    #expect(stage.pool.figures.queued == 3 && orders.allSatisfy { stage.answers(to: $0).isEmpty })
    stage.advance(by: DecoderStarts.pause)
    try stage.turn("failure", passing: .milliseconds(100)) { !stage.answers(to: orders[0]).isEmpty }
    for order in orders {
      #expect(stage.answers(to: order).map(\.failure) == [DecodeFailure(.unavailable, reason)])
    }
    try stage.awaitNone()
    try stage.install("honest")
    #expect(try stage.answer().failure != nil, "for a moment")
    stage.advance(by: DecoderStarts.pause)
    #expect(try stage.answer().isPicture)
  }

  @Test func `orders wait for the end of a pause, and are carried out then`() throws {
    let stage = try PoolStage("ends", workers: 2)
    let orders = (0..<3).map { _ in stage.begin() }
    try stage.turn("pause") { stage.isPaused }
    let late = stage.begin()
    try stage.install("honest")
    stage.advance(by: DecoderStarts.pause - .milliseconds(1))
    #expect(stage.pool.figures.queued == 4)
    stage.advance(by: .milliseconds(1))
    try stage.turn("answers") { (orders + [late]).allSatisfy { !stage.answers(to: $0).isEmpty } }
    for order in orders + [late] { #expect(stage.answers(to: order).first?.isPicture == true) }
    #expect(stage.pool.figures.failed == 0)
  }

  @Test func `an order that is given up in a pause is gone`() throws {
    let stage = try PoolStage("ends")
    let order = stage.begin()
    try stage.turn("pause") { stage.isPaused }
    stage.pool.abort(serial: order)
    #expect(stage.pool.figures.queued == 0)
    stage.advance(by: DecoderStarts.pause)
    #expect(stage.pool.workers.isEmpty && stage.answers(to: order).isEmpty)
  }

  @Test func `decoders that fail together are one series of tries`() {
    var starts = DecoderStarts()
    let now = Instant.current
    starts.noteSuccess()
    for _ in 0..<8 { starts.noteFailure(FailedDecoderStart("died"), at: now) }
    #expect(starts.obstacle(at: now) != nil && !starts.areHopeless)
    let later = now + DecoderStarts.pause
    #expect(starts.obstacle(at: later) == nil)
    for _ in 0..<3 { starts.noteFailure(FailedDecoderStart("died"), at: later) }
    #expect(starts.areHopeless)
  }

  @Test func `a decoder without its whole sandbox is used only where that is permitted`() throws {
    let stage = try PoolStage("has-no-filter")
    let reason =
      "the decoder's sandbox is incomplete: it lacks the filter of system calls (seccomp)"
    #expect(try stage.answer().failure?.cause == .unavailable)
    #expect(try stage.answer().failure?.reason.hasPrefix(reason) == true)
    try stage.awaitNone()
    stage.apply { $0.sandbox = .bestEffort }
    #expect(try stage.answer().isPicture)
    #expect(stage.pool.abilities?.layers.extent == "partial")
    stage.apply { $0.sandbox = .required }
    #expect(try stage.answer().failure?.reason.hasPrefix(reason) == true)
    try stage.awaitNone()
  }

  @Test func `what decoders can do is learnt from one`() throws {
    let stage = try PoolStage()
    var learnt: [Result<DecoderAbilities, DecodeFailure>] = []
    stage.pool.learnAbilities { learnt.append($0) }
    stage.pool.learnAbilities { learnt.append($0) }
    try stage.turn("greeting") { learnt.count == 2 }
    #expect(try learnt[0].get().library == "lies 1.0" && learnt[0] == learnt[1])
    #expect(stage.pool.workers.count == 1 && stage.pool.abilities?.layers.extent == "full")
    stage.pool.retireIdle()
    try stage.awaitNone()
    stage.pool.learnAbilities { learnt.append($0) }
    #expect(learnt.count == 3 && stage.pool.workers.isEmpty, "at once, from what is known")
  }

  @Test func `what one could do is not told when no other starts any more`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer().isPicture)
    stage.uninstall()
    stage.pool.retireIdle()
    try stage.awaitNone()
    #expect(try stage.answer().failure?.cause == .unavailable)
    var learnt: [Result<DecoderAbilities, DecodeFailure>] = []
    stage.pool.learnAbilities { learnt.append($0) }
    #expect(throws: DecodeFailure.self) { try #require(learnt.first).get() }
    try stage.install("honest")
    stage.advance(by: DecoderStarts.lastingPause)
    #expect(try stage.answer().isPicture)
    stage.pool.learnAbilities { learnt.append($0) }
    #expect(try learnt.last?.get().library == "lies 1.0")
  }

  @Test func `where nothing can be learnt that is told in time`() throws {
    let stage = try PoolStage("says-nothing")
    var learnt: [Result<DecoderAbilities, DecodeFailure>] = []
    stage.pool.learnAbilities { learnt.append($0) }
    try stage.turn("process") { !stage.pids.isEmpty }
    stage.advance(by: .seconds(5))
    #expect(learnt.count == 1)
    #expect(throws: DecodeFailure.self) { try learnt[0].get() }
  }

  @Test(arguments: [
    ("/usr/bin/imgd", ["/usr/bin/imgd-decoder", "/usr/bin/../lib/imgd/imgd-decoder"]),
    ("/opt/imgd (deleted)", ["/opt/imgd-decoder", "/opt/../lib/imgd/imgd-decoder"]),
    ("", []),
  ])
  func `the program is looked for beside the daemon first`(daemon: String, places: [String]) {
    #expect(Array(DecoderLocation(beside: daemon).places.prefix(2)) == places)
  }
}
