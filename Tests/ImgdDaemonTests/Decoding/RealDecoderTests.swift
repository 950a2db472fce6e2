import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// The pool with the decoder that is built with it.
@Suite(.enabled(if: access(BuiltProduct.path(of: DecoderLocation.name), X_OK) == 0, "not built"))
struct RealDecoderTests {
  @Test func `a picture comes back as its pixels, and a damaged one as a failure`() throws {
    let stage = try PoolStage(program: BuiltProduct.path(of: DecoderLocation.name))
    guard case .picture(let made) = try stage.answer(Payload(png())) else {
      Issue.record("there is no picture")
      return
    }
    #expect(made.format == nil && made.content.count == 4 * made.width * made.height)
    let cut = Payload(Array(png().prefix(60)))
    #expect(try stage.answer(cut).failure?.cause == .damaged)
    #expect(stage.pool.figures.killed == 0 && stage.pool.abilities != nil)
  }
}
