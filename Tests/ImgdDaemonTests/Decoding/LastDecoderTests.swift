import ImgdWire
import Testing

@testable import ImgdDaemon

/// The last free decoder is not for slow orders of a user who has one.
struct LastDecoderTests {
  @Test func `slow orders of one user leave a decoder free, which others get`() throws {
    let stage = try PoolStage(workers: 2)
    for _ in 0..<3 { stage.begin("is silent", expecting: .seconds(2)) }
    try stage.awaitWork(1)
    stage.settle()
    #expect(stage.pool.figures.active == 1 && stage.pool.figures.queued == 2)
    #expect(try stage.answer().isPicture)
    stage.begin("is silent", as: 2, expecting: .seconds(2))
    try stage.awaitWork(2)
    #expect(stage.pool.figures.queued == 2)
  }

  @Test func `no decoder is started that would have nothing to do`() throws {
    let stage = try PoolStage(workers: 2)
    #expect(try stage.answer().isPicture)
    for _ in 0..<2 { stage.begin("is silent", expecting: .seconds(2)) }
    #expect(stage.pool.workers.count == 1 && stage.pool.figures.active == 1)
  }

  @Test func `with more decoders only the last one is kept free`() throws {
    let stage = try PoolStage(workers: 3)
    for _ in 0..<3 { stage.begin("is silent", expecting: .seconds(2)) }
    try stage.awaitWork(2)
    stage.settle()
    #expect(stage.pool.figures.active == 2 && stage.pool.figures.queued == 1)
  }

  @Test func `one decoder alone is for everything`() throws {
    let stage = try PoolStage(workers: 1)
    stage.begin("is silent", expecting: .seconds(2))
    stage.begin("is silent", expecting: .seconds(2))
    try stage.awaitWork(1)
    stage.advance(by: .seconds(10))
    try stage.awaitWork(1)
    #expect(stage.pool.figures.queued == 0)
  }

  @Test func `an order that ran over its time has freed its user's decoder`() throws {
    let stage = try PoolStage(workers: 2)
    for _ in 0..<2 { stage.begin("is silent", expecting: .seconds(2)) }
    try stage.awaitWork(1)
    stage.settle()
    #expect(stage.pool.figures.queued == 1)
    stage.advance(by: .seconds(10))
    try stage.turn("second order") { stage.pool.figures.queued == 0 }
    #expect(stage.pool.figures.killed == 1)
  }
}
