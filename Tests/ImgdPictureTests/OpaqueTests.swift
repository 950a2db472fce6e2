import ImgdPicture
import ImgdTestSupport
import Testing

/// Whether a file says that nothing can be seen through its picture.
struct OpaqueTests {
  private func isOpaque(_ bytes: [UInt8]) throws -> Bool {
    try PictureProbe.recognise(bytes.span).isOpaque
  }

  @Test(arguments: [(0, true), (2, true), (3, true), (4, false), (6, false)])
  func `the colours of a PNG have alpha or not`(type: UInt8, opaque: Bool) throws {
    var png = TestPicture.png(width: 4, height: 4)
    // Behind the signature, the head of the first chunk, both sides and the depth.
    png[25] = type
    #expect(try isOpaque(png) == opaque)
    // A transparent colour comes before the pixels.
    let clear = TestPicture.pngChunk("tRNS", [0, 0])
    #expect(try !isOpaque(Array(png[..<33]) + clear + png[33...]))
  }

  @Test func `one frame of a GIF with a transparent colour is enough`() throws {
    var gif = TestPicture.gif(width: 4, height: 4, frames: 3)
    #expect(try isOpaque(gif))
    let last = try #require(
      gif.indices.last { gif[$0...].starts(with: [0x21, 0xF9, 0x04]) })
    gif[last + 3] |= 1
    #expect(try !isOpaque(gif))
  }

  @Test func `a WebP says so in its head`() throws {
    var webp = TestPicture.webp(width: 4, height: 4)
    // The pixels have a bit for it after both sides, and so has a canvas among its flags.
    let start = try #require(webp.indices.first { webp[$0...].starts(with: Array("VP8L".utf8)) })
    webp[start + 12] &= ~0x10
    #expect(try isOpaque(webp))
    webp[start + 12] |= 0x10
    #expect(try !isOpaque(webp))
    var moving = TestPicture.webp(width: 4, height: 4, frames: 2)
    moving[20] &= ~0x10
    #expect(try isOpaque(moving))
    moving[20] |= 0x10
    #expect(try !isOpaque(moving))
  }

  @Test func `what is not said is not opaque`() throws {
    #expect(try isOpaque(TestPicture.jxl(width: 8, height: 8)))
    #expect(try !isOpaque(TestPicture.jxl(width: 8, height: 8, orientation: 2)))
    #expect(try !isOpaque(TestPicture.jpeg(width: 8, height: 8)))
  }
}
