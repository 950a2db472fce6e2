import ImgdPicture
import ImgdTestSupport
import Testing

@Suite("GIF") struct GIFTests {
  private static let screen = Array("GIF89a".utf8) + [3, 0, 4, 0, 0, 0, 0]
  private static let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 3, 0, 4, 0, 0, 2, 1, 9, 0]

  @Test("frames are counted, whatever stands between them", arguments: [1, 2, 300])
  func frames(_ count: Int) {
    #expect(
      verdict(TestPicture.gif(width: 3, height: 4, frames: count))
        == line(.gif, 3, 4, frames: count))
  }

  @Test("colour tables of every size are passed over", arguments: 0...7)
  func colourTables(_ size: Int) {
    // A table full of trailers would end a walk that read it.
    let table = [UInt8](repeating: 0x3B, count: 3 << (size + 1))
    var screen = Self.screen
    screen[10] = 0x80 | UInt8(size)
    var frame = Self.frame
    frame[9] = 0x80 | UInt8(size)
    frame.insert(contentsOf: table, at: 10)
    #expect(verdict(screen + table + frame + frame + [0x3B]) == line(.gif, 3, 4, frames: 2))
  }

  @Test("what follows the trailer, or is no block, is not counted", arguments: [0x3B, 0x00, 0x99])
  func ends(_ byte: UInt8) {
    #expect(verdict(Self.screen + Self.frame + [byte] + Self.frame) == line(.gif, 3, 4))
  }

  @Test("a GIF that breaks off has the frames that began")
  func cutOff() {
    let gif = Self.screen + Self.frame + Self.frame
    #expect(verdict(gif) == line(.gif, 3, 4, frames: 2))
    #expect(verdict(Array(gif.dropLast(1))) == line(.gif, 3, 4, frames: 2))
    #expect(verdict(Array(gif.dropLast(10))) == line(.gif, 3, 4))
    #expect(verdict(Self.screen) == line(.gif, 3, 4))
  }

  @Test("a whole GIF without a frame is refused")
  func noFrame() {
    #expect(verdict(Self.screen + [0x3B]) == "GIF without a frame")
  }

  @Test("other versions and short headers are refused")
  func versions() {
    #expect(
      verdict(Array("GIF88a".utf8) + [3, 0, 4, 0, 0, 0, 0])
        == "GIF of a version that is neither 87a nor 89a")
    #expect(verdict(Array(Self.screen.dropLast())) == "GIF that ends inside its header")
    #expect(verdict(Array("GIF89a".utf8) + [0, 0, 4, 0, 0, 0, 0]) == "gif whose width is 0")
  }

  @Test("70,000 frames are counted")
  func manyFrames() {
    var bytes = Self.screen
    for _ in 0..<70_000 { bytes += Self.frame }
    #expect(verdict(bytes) == line(.gif, 3, 4, frames: 70_000))
  }

  @Test("the walk ends at its limit")
  func limit() {
    let tiny = [0x21, 0xFE] + [UInt8](repeating: 1, count: 2_100_000)
    #expect(verdict(Self.screen + Self.frame + tiny + [0] + Self.frame) == line(.gif, 3, 4))
  }
}
