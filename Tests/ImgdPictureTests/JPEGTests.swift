import ImgdPicture
import ImgdTestSupport
import Testing

struct JPEGTests {
  private static let start: [UInt8] = [0xFF, 0xD8]

  @Test(arguments: 0xC0...0xCF as ClosedRange<UInt8>)
  func `every kind of frame states the size`(_ marker: UInt8) {
    let jpeg = Self.start + TestPicture.jpegFrame(marker, width: 640, height: 480)
    let isTable = [0xC4, 0xC8, 0xCC].contains(marker)
    #expect(
      verdict(jpeg) == (isTable ? "JPEG that ends before its frame header" : line(.jpeg, 640, 480)))
  }

  @Test(arguments: 1...8, [false, true])
  func `every orientation is read in both byte orders`(_ orientation: Int, _ bigEndian: Bool) {
    let jpeg = TestPicture.jpeg(
      width: 8, height: 8, orientation: orientation, bigEndianExif: bigEndian)
    #expect(verdict(jpeg) == line(.jpeg, 8, 8, orientation: orientation))
  }

  @Test(arguments: [0, 9, 65_535])
  func `an invalid orientation counts as upright`(_ orientation: Int) {
    #expect(
      verdict(TestPicture.jpeg(width: 8, height: 8, orientation: orientation)) == line(.jpeg, 8, 8))
  }

  @Test func `the first orientation counts, and other APP1 segments do not`() {
    let name = Array("Exif\0\0".utf8)
    let segments = [
      Array("http://ns.adobe.com/xap/1.0/\0".utf8), name + [1, 2],
      name + TestPicture.exif(orientation: 6), name + TestPicture.exif(orientation: 3),
      TestPicture.exif(orientation: 5),
    ]
    let jpeg =
      Self.start + segments.flatMap { TestPicture.jpegSegment(0xE1, $0) }
      + TestPicture.jpegFrame(0xC0, width: 3, height: 4)
    #expect(verdict(jpeg) == line(.jpeg, 3, 4, orientation: 6))
  }

  @Test(
    arguments: [
      [0xFF, 0xFF, 0xFF], [0xFF, 0xD8], [0xFF, 0xD0, 0xFF, 0x01], [0, 1, 2, 0xFF, 0],
    ] as [[UInt8]])
  func `bytes that decoders skip are skipped`(_ stray: [UInt8]) {
    let jpeg =
      Self.start + TestPicture.jpegSegment(0xE0, [1]) + stray
      + TestPicture.jpegFrame(0xC2, width: 3, height: 4)
    #expect(verdict(jpeg) == line(.jpeg, 3, 4))
  }

  @Test(arguments: [(0xC0, false), (0xC1, false), (0xC2, true), (0xC9, false), (0xCA, true)])
  func `the coding of the pixels is read`(_ marker: UInt8, _ isProgressive: Bool) {
    let frame = TestPicture.jpegFrame(marker, width: 3, height: 4)
    let jpeg = Self.start + TestPicture.jpegSegment(0xE0, [1]) + frame
    let coding = JPEGCoding(jpeg.span)
    #expect(coding.isProgressive == isProgressive)
    #expect(coding.colours == Int(frame[9]))
    for count in 0..<jpeg.count { _ = JPEGCoding(jpeg.span.extracting(0..<count)) }
    #expect(JPEGCoding(Self.start.span) == .baseline)
  }

  @Test func `a frame is found after 200 kB of profile`() {
    let profile = TestPicture.jpegSegment(0xE2, [UInt8](repeating: 0xFF, count: 65_533))
    let jpeg =
      Self.start + profile + profile + profile + TestPicture.jpegFrame(0xC0, width: 3, height: 4)
    #expect(verdict(jpeg) == line(.jpeg, 3, 4))
  }

  @Test(arguments: [0xD9, 0xDA] as [UInt8])
  func `pixels before the frame header, or no pixels, are refused`(_ marker: UInt8) {
    let jpeg =
      Self.start + TestPicture.jpegSegment(marker, [])
      + TestPicture.jpegFrame(0xC0, width: 3, height: 4)
    #expect(verdict(jpeg) == "JPEG that ends before its frame header")
  }

  @Test func `a segment shorter than its own length is refused`() {
    let jpeg = Self.start + [0xFF, 0xE0, 0, 1] + TestPicture.jpegFrame(0xC0, width: 3, height: 4)
    #expect(verdict(jpeg) == "JPEG that ends before its frame header")
  }

  @Test func `a frame header that breaks off is refused`() {
    let jpeg = Self.start + TestPicture.jpegFrame(0xC0, width: 3, height: 4)
    #expect(verdict(Array(jpeg.prefix(10))) == "JPEG that ends inside its frame header")
  }

  @Test func `a side of zero is refused`() {
    let frames = [(0, 4), (4, 0)].map { TestPicture.jpegFrame(0xC0, width: $0, height: $1) }
    #expect(
      frames.map { verdict(Self.start + $0) } == [
        "jpeg whose width is 0", "jpeg whose height is 0",
      ])
  }

  @Test func `a million fill bytes end the search`() {
    let jpeg = Self.start + [UInt8](repeating: 0xFF, count: 2_000_000)
    #expect(
      verdict(jpeg + TestPicture.jpegFrame(0xC0, width: 3, height: 4))
        == "JPEG that ends before its frame header")
  }
}
