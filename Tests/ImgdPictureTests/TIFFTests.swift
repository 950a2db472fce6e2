import ImgdPicture
import ImgdTestSupport
import Testing

struct TIFFTests {
  /// A directory at 8 with width 3 and height 4 as short numbers, then the offset of the next one.
  private func tiff(next: [UInt8]) -> [UInt8] {
    Array("II".utf8) + [42, 0, 8, 0, 0, 0, 2, 0]
      + [0, 1, 3, 0, 1, 0, 0, 0, 3, 0, 0, 0]
      + [1, 1, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0] + next
  }

  @Test(arguments: [1, 2, 500], [false, true])
  func `pages are directories`(_ count: Int, _ isBig: Bool) {
    let tiff = TestPicture.tiff(width: 1, height: 1, isBig: isBig, pages: count)
    #expect(verdict(tiff) == line(.tiff, 1, 1, frames: count))
  }

  @Test func `a repeated directory ends the chain`() {
    #expect(verdict(tiff(next: [8, 0, 0, 0])) == line(.tiff, 3, 4))
    var two = tiff(next: [38, 0, 0, 0])
    two += two[8..<34] + [8, 0, 0, 0]
    #expect(verdict(two) == line(.tiff, 3, 4, frames: 2))
  }

  @Test(arguments: [0xFF, 0x7F, 39] as [UInt8])
  func `a chain of directories that leaves the file ends there`(_ place: UInt8) {
    #expect(verdict(tiff(next: [place, place, place, place])) == line(.tiff, 3, 4))
    #expect(verdict(tiff(next: [])) == line(.tiff, 3, 4))
  }

  @Test func `an endless chain of overlapping directories is cut at its limit`() {
    // Each directory has one entry, and the next one begins two bytes on.
    var bytes = tiff(next: [40, 0, 0, 0]) + [0, 0]
    for index in 0..<70_000 {
      let next = 40 + (index + 1) * 18
      bytes += [1, 0] + [UInt8](repeating: 0, count: 12)
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: next >> ($0 * 8)) }
    }
    #expect(verdict(bytes) == line(.tiff, 3, 4, frames: 65_535))
  }

  @Test func `a first directory without a size is refused`() {
    var bytes = tiff(next: [0, 0, 0, 0])
    bytes[10] = 9
    #expect(verdict(bytes) == "TIFF whose first directory states no size")
    #expect(verdict(Array(bytes.prefix(8))) == "TIFF whose first directory states no size")
    #expect(verdict(Array(bytes.prefix(7))) == "TIFF that ends inside its header")
  }

  @Test func `sides may be of every whole type and of no other`() {
    var bytes = tiff(next: [0, 0, 0, 0])
    bytes[12] = 4
    #expect(verdict(bytes) == line(.tiff, 3, 4))
    bytes[12] = 5
    #expect(verdict(bytes) == "TIFF whose first directory states no size")
    bytes[12] = 4
    bytes[21] = 0x80
    #expect(verdict(bytes) == "tiff whose width is 2147483651")
  }

  @Test(arguments: [0x7F, 0xFF] as [UInt8])
  func `64-bit counts and offsets beyond all bounds are refused`(_ byte: UInt8) {
    let header = Array("MM".utf8) + [0, 43, 0, 8, 0, 0]
    let far = [byte] + [UInt8](repeating: 0xFF, count: 7)
    #expect(verdict(header + far).hasPrefix("TIFF "))
    #expect(verdict(header + [0, 0, 0, 0, 0, 0, 0, 16] + far).hasPrefix("TIFF "))
  }
}
