import Glibc
import ImgdDecode
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// Decoders that a picture has taken over, or brought down.
struct LyingDecoderTests {
  /// What a decoder does with an order, and what is said of it.
  private static let ends: [(behaviour: String, reason: String)] = [
    ("exits", "the decoder ended with exit code 3"),
    ("crashes", "the decoder ended by SIGSEGV"),
    ("hangs up", "the decoder broke the rules: it hung up"),
    ("answers another", "the decoder broke the rules: it answered another order"),
    ("makes a file", "the decoder broke the rules: it made something else"),
    ("describes", "the decoder broke the rules: it made something else"),
    ("makes too little", "the decoder broke the rules: it sent a message that makes no sense"),
    ("talks nonsense", "the decoder broke the rules: it sent a message that makes no sense"),
    ("talks too much", "the decoder broke the rules: it sent a message that makes no sense"),
    ("sends no memory", "the decoder broke the rules: it sent a message that makes no sense"),
    ("sends a socket", "the decoder broke the rules: it sent a message that makes no sense"),
    ("sends two", "the decoder broke the rules: it sent a message that makes no sense"),
    ("sends what can change", "the decoder broke the rules: it sent a message that makes no sense"),
  ]

  @Test(arguments: ends)
  func `a decoder that does not answer as it should is ended, and the next one works`(
    behaviour: String, reason: String
  ) throws {
    let stage = try PoolStage { $0.timeout = .seconds(3_600) }
    let order = stage.begin(behaviour)
    try stage.awaitProcess()
    let pid = try #require(stage.pids.first)
    try stage.turn("answer", passing: .milliseconds(100)) { !stage.answers(to: order).isEmpty }
    #expect(stage.answers(to: order).first?.failure == DecodeFailure(.crashed, reason))
    try stage.awaitNone()
    #expect(kill(pid, 0) == -1 && errno == ESRCH, "and it is reaped")
    #expect(try stage.answer().isPicture)
    #expect(stage.answers(to: order).count == 1)
    #expect(stage.pool.figures.killed == 1)
    #expect(stage.pool.figures.failed == 1 && stage.pool.figures.completed == 1)
  }

  @Test(arguments: ["answers twice", "answers and greets"])
  func `a decoder that says more than it was asked is ended`(behaviour: String) throws {
    let stage = try PoolStage()
    let order = stage.begin(behaviour)
    try stage.awaitProcess()
    try stage.awaitNone()
    #expect(stage.answers(to: order).count == 1)
    #expect(stage.pool.figures.killed == 1)
    #expect(try stage.answer().isPicture)
  }

  @Test func `a decoder that takes too long is ended at that moment`() throws {
    let stage = try PoolStage()
    let order = stage.begin("is silent")
    try stage.awaitWork()
    stage.advance(by: .milliseconds(9_999))
    #expect(stage.answers(to: order).isEmpty)
    stage.advance(by: .milliseconds(1))
    #expect(
      stage.answers(to: order).first?.failure
        == DecodeFailure(
          .timedOut, "the decoder took longer than 10.0 seconds", limit: .seconds(10)))
    try stage.awaitNone()
    #expect(try stage.answer().isPicture)
    #expect(stage.pool.figures.killed == 1)
  }

  @Test func `a decoder that ends after its answer has given it`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer("answers and exits").isPicture)
    #expect(try stage.answer().isPicture)
    #expect(stage.pool.figures.killed == 0)
  }

  @Test(arguments: ["ends", "says nothing at all"])
  func `an order that a decoder ends over in good order is given to another one, once`(
    behaviour: String
  ) throws {
    let stage = try PoolStage()
    var pids: Set<pid_t> = []
    let order = stage.begin(behaviour)
    try stage.turn("answer") {
      pids.formUnion(stage.pids)
      return !stage.answers(to: order).isEmpty
    }
    #expect(
      stage.answers(to: order).first?.failure
        == DecodeFailure(.crashed, "the decoder ended without an answer"))
    #expect(pids.count == 2)
    #expect(try stage.answer().isPicture)
  }

  /// By the kernel when memory is short, or by a person: that says nothing of the picture.
  @Test(arguments: [
    ("is killed", "was killed, perhaps for memory"), ("is terminated", "ended by signal 15"),
  ])
  func `an order whose decoder is killed from outside is given to another one, once`(
    behaviour: String, end: String
  ) throws {
    let stage = try PoolStage()
    let order = stage.begin(behaviour)
    let other = stage.begin()
    var pids: Set<pid_t> = []
    try stage.turn("answers") {
      pids.formUnion(stage.pids)
      return !stage.answers(to: order).isEmpty && !stage.answers(to: other).isEmpty
    }
    #expect(stage.answers(to: other).first?.isPicture == true)
    #expect(
      stage.answers(to: order).map(\.failure) == [DecodeFailure(.killed, "the decoder \(end)")])
    #expect(pids.count >= 2 && stage.pool.figures.killed == 2)
    #expect(stage.pool.figures.failed == 1)
    #expect(try stage.answer().isPicture)
  }

  @Test func `one kill from outside costs nobody an answer`() throws {
    let stage = try PoolStage()
    let order = stage.begin("is silent")
    try stage.awaitWork()
    for _ in 0..<2 {
      let pid = try #require(stage.pids.first)
      kill(pid, SIGKILL)
      try stage.turn("end") { !stage.pids.contains(pid) }
      guard stage.answers(to: order).isEmpty else { break }
      try stage.awaitWork()
      #expect(stage.pool.figures.killed == 1 && stage.pool.figures.failed == 0)
    }
    #expect(stage.answers(to: order).map(\.failure?.cause) == [.killed])
  }

  /// The daemon has killed that one itself, and knows why.
  @Test func `a decoder that took too long is not tried once more`() throws {
    let stage = try PoolStage()
    let order = stage.begin("is silent")
    try stage.awaitWork()
    stage.advance(by: .seconds(10))
    try stage.awaitNone()
    #expect(stage.answers(to: order).map(\.failure?.cause) == [.timedOut])
    #expect(stage.pool.figures.killed == 1 && stage.pool.figures.queued == 0)
  }

  @Test func `a failure that the decoder tells of is an answer`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer("fails").failure == DecodeFailure(.damaged, "torn"))
    let pids = stage.pids
    #expect(try stage.answer().isPicture)
    #expect(stage.pids == pids, "and the decoder goes on")
    #expect(stage.pool.figures.failed == 1 && stage.pool.figures.killed == 0)
  }

  @Test func `a decoder that greets again is ended`() throws {
    let stage = try PoolStage("greets-twice")
    let order = stage.begin()
    try stage.turn("greeting") { !stage.pool.workers.isEmpty && stage.pool.abilities != nil }
    try stage.awaitNone()
    #expect(stage.answers(to: order).count <= 1)
    #expect(stage.pool.figures.killed == 1)
    try stage.install("honest")
    #expect(try stage.answer().isPicture)
  }
}
