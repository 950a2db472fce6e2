import ImgdPicture
import ImgdTestSupport
import Testing

struct GIFTests {
  private static let screen = Array("GIF89a".utf8) + [3, 0, 4, 0, 0, 0, 0]
  private static let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 3, 0, 4, 0, 0, 2, 1, 9, 0]

  @Test(arguments: [1, 2, 300])
  func `frames are counted with any blocks between them`(_ count: Int) {
    #expect(
      verdict(TestPicture.gif(width: 3, height: 4, frames: count))
        == line(.gif, 3, 4, frames: count))
  }

  @Test(arguments: 0...7)
  func `colour tables of every size are skipped`(_ size: Int) {
    // A colour table full of trailers would end a walk that did not skip it.
    let table = [UInt8](repeating: 0x3B, count: 3 << (size + 1))
    var screen = Self.screen
    screen[10] = 0x80 | UInt8(size)
    var frame = Self.frame
    frame[9] = 0x80 | UInt8(size)
    frame.insert(contentsOf: table, at: 10)
    #expect(verdict(screen + table + frame + frame + [0x3B]) == line(.gif, 3, 4, frames: 2))
  }

  @Test(arguments: [0x3B, 0x00, 0x99])
  func `bytes after the trailer, or outside of blocks, are not counted`(_ byte: UInt8) {
    #expect(verdict(Self.screen + Self.frame + [byte] + Self.frame) == line(.gif, 3, 4))
  }

  @Test func `a GIF that breaks off has the frames that began`() {
    let gif = Self.screen + Self.frame + Self.frame
    #expect(verdict(gif) == line(.gif, 3, 4, frames: 2))
    #expect(verdict(Array(gif.dropLast(1))) == line(.gif, 3, 4, frames: 2))
    #expect(verdict(Array(gif.dropLast(10))) == line(.gif, 3, 4))
    #expect(verdict(Self.screen) == line(.gif, 3, 4))
  }

  @Test func `a whole GIF without a frame is refused`() {
    #expect(verdict(Self.screen + [0x3B]) == "GIF without a frame")
  }

  @Test func `other versions and short headers are refused`() {
    #expect(
      verdict(Array("GIF88a".utf8) + [3, 0, 4, 0, 0, 0, 0])
        == "GIF of a version that is neither 87a nor 89a")
    #expect(verdict(Array(Self.screen.dropLast())) == "GIF that ends inside its header")
    #expect(verdict(Array("GIF89a".utf8) + [0, 0, 4, 0, 0, 0, 0]) == "gif whose width is 0")
  }

  @Test func `a first frame that reaches beyond the screen makes it larger, as in viewers`() {
    var frame = Self.frame
    (frame[1], frame[3], frame[5], frame[8]) = (5, 6, 9, 1)
    #expect(verdict(Self.screen + frame + [0x3B]) == line(.gif, 14, 266))
    #expect(verdict(Self.screen + Self.frame + frame + [0x3B]) == line(.gif, 3, 4, frames: 2))
  }

  @Test func `70,000 frames are counted`() {
    var bytes = Self.screen
    for _ in 0..<70_000 { bytes += Self.frame }
    #expect(verdict(bytes) == line(.gif, 3, 4, frames: 70_000))
  }

  @Test func `the walk over a GIF ends at its limit`() {
    let tiny = [0x21, 0xFE] + [UInt8](repeating: 1, count: 2_100_000)
    #expect(verdict(Self.screen + Self.frame + tiny + [0] + Self.frame) == line(.gif, 3, 4))
  }
}
