import Glibc
import ImgdDecode
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// How many decoders there are, and how long they stay.
struct DecoderPoolTests {
  @Test func `an order starts a decoder, and the next one finds it there`() throws {
    let stage = try PoolStage()
    #expect(stage.pool.workers.isEmpty, "before there is anything to do")
    #expect(try stage.answer().isPicture)
    let pids = stage.pids
    #expect(try stage.answer().isPicture)
    #expect(stage.pids == pids && pids.count == 1)
    let figures = stage.pool.figures
    #expect(figures.workers == 1 && figures.active == 0 && figures.completed == 2)
    #expect(figures.failed == 0 && figures.killed == 0)
    #expect(stage.pool.abilities?.layers.extent == "full")
  }

  @Test func `no more decoders run than are configured, and the rest waits`() throws {
    let stage = try PoolStage(workers: 2)
    for _ in 0..<3 { stage.begin("is silent") }
    try stage.awaitWork(2)
    #expect(stage.pool.workers.count == 2 && stage.pool.figures.queued == 1)
    stage.apply { $0.workers = .count(3) }
    try stage.awaitWork(3)
    #expect(stage.pool.figures.queued == 0)
  }

  @Test func `fewer decoders are left after a change, when their work is done`() throws {
    let stage = try PoolStage(workers: 2)
    let orders = [stage.begin("is silent"), stage.begin("is silent")]
    try stage.awaitWork(2)
    stage.apply { $0.workers = .count(1) }
    stage.settle()
    #expect(stage.pool.figures.active == 2)
    stage.advance(by: .seconds(10))
    for order in orders { #expect(stage.answers(to: order).first?.failure?.cause == .timedOut) }
    stage.begin("is silent")
    stage.begin("is silent")
    try stage.awaitWork(1)
    #expect(stage.pool.workers.count(where: \.isLive) == 1 && stage.pool.figures.queued == 1)
  }

  @Test func `of those without work as many end at once as there are too many`() throws {
    let stage = try PoolStage(workers: 2)
    #expect(try stage.answer().isPicture)
    stage.begin()
    stage.begin()
    try stage.turn("second decoder") {
      stage.pool.figures.workers == 2 && stage.pool.figures.active == 0
    }
    stage.apply { $0.workers = .count(1) }
    #expect(stage.pool.figures.workers == 1)
    try stage.turn("end of one") { stage.pool.workers.count == 1 }
  }

  @Test func `a decoder that is not needed ends by itself`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer().isPicture)
    let pid = try #require(stage.pids.first)
    stage.advance(by: .milliseconds(29_999))
    #expect(stage.pool.figures.workers == 1)
    stage.advance(by: .milliseconds(1))
    #expect(stage.pool.figures.workers == 0)
    try stage.awaitNone()
    #expect(kill(pid, 0) == -1 && errno == ESRCH)
    #expect(stage.pool.figures.killed == 0)
    #expect(try stage.answer().isPicture)
  }

  @Test func `a decoder is replaced after many orders`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer().isPicture)
    let first = stage.pids
    for _ in 2..<DecoderPool.mostOrders { #expect(try stage.answer().isPicture) }
    #expect(stage.pids == first)
    #expect(try stage.answer().isPicture)
    #expect(try stage.answer().isPicture)
    #expect(stage.pids != first && stage.pids.count == 1)
    #expect(stage.pool.figures.killed == 0)
  }

  @Test func `a decoder with another limit of memory is replaced`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer().isPicture)
    stage.apply { $0.memory = 128 << 20 }
    try stage.awaitNone()
    #expect(try stage.answer().isPicture)
    #expect(stage.pool.workers.map(\.memory) == [128 << 20])
  }

  @Test func `when memory is short those without work end, and the others go on`() throws {
    let stage = try PoolStage(workers: 2)
    let order = stage.begin("is silent")
    try stage.awaitWork()
    #expect(try stage.answer().isPicture)
    stage.pool.retireIdle()
    try stage.turn("end of one") { stage.pool.workers.count == 1 }
    #expect(stage.pool.figures.active == 1 && stage.answers(to: order).isEmpty)
    #expect(stage.pool.figures.killed == 0)
  }

  @Test func `an order that is given up while it waits is never begun`() throws {
    let stage = try PoolStage()
    stage.begin("is silent")
    let order = stage.begin("exits")
    stage.pool.abort(serial: order)
    #expect(stage.pool.figures.queued == 1)
    try stage.awaitWork()
    stage.advance(by: .seconds(10))
    #expect(try stage.answer().isPicture)
    #expect(stage.answers(to: order).isEmpty && stage.pool.figures.killed == 1)
  }

  @Test func `an order that is given up while it runs has no answer`() throws {
    let stage = try PoolStage()
    #expect(try stage.answer().isPicture)
    let order = stage.begin()
    #expect(stage.pool.figures.active == 1)
    stage.pool.abort(serial: order)
    #expect(try stage.answer().isPicture)
    #expect(stage.answers(to: order).isEmpty && stage.pool.figures.completed == 3)
  }

  @Test func `a newcomer has the next decoder that is free`() throws {
    let stage = try PoolStage()
    stage.begin("is silent", as: 1)
    try stage.awaitWork()
    let others = (0..<5).map { _ in stage.begin("is silent", as: 1) }
    let newcomer = stage.begin("is honest", as: 2)
    stage.advance(by: .seconds(10))
    try stage.turn("answer") { !stage.answers(to: newcomer).isEmpty }
    for order in others { #expect(stage.answers(to: order).isEmpty) }
  }

  @Test func `at the end all processes are gone, and nobody is told anything`() throws {
    let stage = try PoolStage(workers: 2)
    let orders = (0..<3).map { _ in stage.begin("is silent") }
    try stage.awaitWork(2)
    let pids = stage.pids
    stage.pool.stop()
    for pid in pids { #expect(kill(pid, 0) == -1 && errno == ESRCH) }
    for order in orders { #expect(stage.answers(to: order).isEmpty) }
    #expect(stage.answers(to: stage.begin()).first?.failure?.cause == .stopped)
  }
}
