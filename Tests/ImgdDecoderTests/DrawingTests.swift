import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// Drawings are drawn in the size that is wanted, and nothing is scaled afterwards.
struct DrawingTests {
  private static let red: [UInt8] = [255, 0, 0, 255]
  private static let clear: [UInt8] = [0, 0, 0, 0]

  private func drawn(_ drawing: [UInt8], _ box: Rendition.Box? = nil, limits: DecodeLimits = DecodeLimits()) throws
    -> MadePicture
  { try answer(drawing, .svg, Rendition(.pixels, box: box, frames: .first), limits: limits).made() }

  /// The left half is red, the right half blue, and both have a black bar of a tenth at the top.
  private func halves(_ attributes: String = #"width="20" height="10""#) -> [UInt8] {
    TestDrawing.svg(
      attributes + #" viewBox="0 0 20 10" preserveAspectRatio="none""#,
      ##"<rect width="10" height="10" fill="#f00"/><rect x="10" width="10" height="10" fill="#00f"/><rect width="20" height="1"/>"##
    )
  }

  @Test(arguments: [16, 64, 512, 1_000])
  func `a disc has a sharp edge in every size`(side: Int) throws {
    let made = try drawn(TestDrawing.disc, Rendition.Box(width: side, height: side))
    #expect(made.width == side && made.height == side)
    // Only pixels through which the edge goes are mixed.
    let (radius, bytes) = (Double(side) / 2, made.content.bytes)
    var wrong = 0
    for y in 0..<side {
      for x in 0..<side {
        let corners = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map { corner in
          let (across, down) = (Double(corner.0) - radius, Double(corner.1) - radius)
          return (across * across + down * down).squareRoot()
        }
        let alpha = bytes[(y * side + x) * 4 + 3]
        if corners.allSatisfy({ $0 < radius - 0.1 }), alpha != 255 { wrong += 1 }
        if corners.allSatisfy({ $0 > radius + 0.1 }), alpha != 0 { wrong += 1 }
      }
    }
    #expect(wrong == 0)
    #expect(made.color(side / 2, side / 2) == Self.red && made.color(0, 0) == Self.clear)
  }

  @Test(
    arguments: [
      (nil, 20, 10), (.init(width: 100, height: 100), 100, 50), (.init(width: 5, height: nil), 5, 3),
      (.init(width: nil, height: 30), 60, 30), (.init(width: 100, height: 100, enlarges: true), 100, 50),
      (.init(width: 33, height: 77, fit: .fill), 33, 77), (.init(width: 40, height: 40, fit: .cover), 40, 40),
      (.init(width: 40, height: 40, fit: .pad), 40, 40), (.init(width: 20, height: 10), 20, 10),
      (.init(width: 40, height: 40, fit: .cover, crop: .attention), 40, 40),
      (.init(width: nil, height: nil, area: .init(x: 5, y: 0, width: 10, height: 4, isRelative: false)), 10, 4),
    ] as [(Rendition.Box?, Int, Int)])
  func `it has the size that is asked for, larger or smaller`(box: Rendition.Box?, width: Int, height: Int) throws {
    let made = try drawn(halves(), box)
    #expect(made.width == width && made.height == height)
    let file = try answer(halves(), .svg, Rendition(.file(nil, quality: nil), box: box)).made()
    #expect(file.format == .png && file.width == width && file.height == height)
  }

  @Test func `what overflows is cut, and what is left is filled`() throws {
    let (red, blue, black) = ([255, 0, 0, 255], [0, 0, 255, 255], [0, 0, 0, 255]) as ([UInt8], [UInt8], [UInt8])
    let filled = try drawn(halves(), Rendition.Box(width: 40, height: 100, fit: .fill))
    #expect(filled.color(19, 10) == red && filled.color(20, 10) == blue)
    #expect(filled.color(0, 9) == black && filled.color(39, 10) == blue)
    let covered = try drawn(halves(), Rendition.Box(width: 50, height: 100, fit: .cover))
    #expect(covered.color(24, 50) == red && covered.color(25, 50) == blue && covered.color(0, 9) == black)
    #expect(covered.color(0, 10) == red)
    let right = try drawn(
      halves(), Rendition.Box(width: 50, height: 100, fit: .cover, crop: .point(x: 1_000_000, y: 0)))
    #expect(right.color(0, 50) == blue && right.color(49, 99) == blue)
    let padded = try drawn(
      halves(),
      Rendition.Box(
        width: 40, height: 40, fit: .pad, background: Rendition.Colour(red: 1, green: 2, blue: 3, alpha: 255)))
    #expect(padded.color(0, 9) == [1, 2, 3, 255] && padded.color(0, 10) == black && padded.color(39, 29) == blue)
    let area = Rendition.Box.Area(x: 250_000, y: 100_000, width: 500_000, height: 900_000, isRelative: true)
    let part = try drawn(halves(), Rendition.Box(width: 1_000, height: nil, area: area))
    #expect(part.width == 1_000 && part.height == 900)
    #expect(part.color(499, 0) == red && part.color(500, 0) == blue && part.color(0, 899) == red)
    let eye = TestDrawing.svg(
      #"width="100" height="10""#,
      ##"<rect width="100" height="10" fill="#888"/><circle cx="90" cy="5" r="4" fill="#f00"/>"##)
    let seen = try drawn(eye, Rendition.Box(width: 40, height: 40, fit: .cover, crop: .attention))
    #expect((0..<40).contains { seen.color($0, 20)[1] < 0x40 })
  }

  @Test(arguments: [
    "", #"width="100%" height="100%""#, #"width="20""#, #"height="10px""#, #"width="20" height="100%""#,
  ])
  func `a size that is left open comes from the box of the drawing`(attributes: String) throws {
    let made = try drawn(halves(attributes))
    #expect(made.width == 20 && made.height == 10)
    let large = try drawn(halves(attributes), Rendition.Box(width: 200, height: nil))
    #expect(large.color(99, 50) == [255, 0, 0, 255] && large.color(100, 50) == [0, 0, 255, 255])
  }

  @Test func `what is seen through keeps its colour`() throws {
    let glass = TestDrawing.svg(#"width="4" height="4""#, ##"<rect width="4" height="4" fill="#f80" opacity=".5"/>"##)
    #expect(difference(try drawn(glass).color(1, 1), [255, 136, 0, 128]) <= 1)
    let file = try answer(glass, .svg, Rendition(.file(.jpeg, quality: 100))).made().pixels()
    #expect(difference(file.color(1, 1), [255, 196, 128, 255]) <= 6)
    guard case .description(let description) = try answer(glass, .svg, Rendition(.description)) else {
      Issue.record("no description")
      return
    }
    #expect(difference(description.average, [255, 136, 0, 128]) <= 1)
  }

  /// It could only be boxes, since fonts are files.
  @Test func `text is not drawn`() throws {
    let text = TestDrawing.svg(
      #"width="20" height="10""#,
      ##"<text y="9" style="display:inline">text</text><g><text><tspan x="1" y="9">x</tspan></text></g><rect width="1" height="1" fill="#f00"/>"##
    )
    let made = try drawn(text)
    #expect(made.color(0, 0) == Self.red)
    let bytes = made.content.bytes
    #expect(stride(from: 7, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 0 })
  }

  @Test func `a picture inside is drawn, and a file is not`() throws {
    let png = TestPicture.png(.plain([0, 255, 0, 255], width: 4, height: 4)).map { byte in
      "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    let made = try drawn(
      TestDrawing.svg(
        #"width="20" height="10""#,
        #"<image href="data:image/png,\#(png.joined())" width="10" height="10"/><image x="10" width="10" height="10" href="file:///etc/hostname"/>"#
      ))
    #expect(made.color(5, 5) == [0, 255, 0, 255] && made.color(15, 5) == Self.clear)
  }

  @Test func `only the size that is drawn counts against limits`() throws {
    let huge = TestDrawing.svg(
      #"viewBox="0 0 1000000 1000000""#, #"<rect width="500000" height="1000000" fill="red"/>"#)
    let small = try drawn(huge, Rendition.Box(width: 10, height: 10))
    #expect(small.color(4, 9) == Self.red && small.color(5, 9) == Self.clear)
    #expect(try answer(huge, .svg).cause == .tooLarge)
    let limits = DecodeLimits(pixels: 10_000, frames: 1, dimension: 1_000)
    for (side, cause) in [(100, nil), (101, .tooLarge), (1_001, .tooLarge)] as [(Int, DecodeFailure.Cause?)] {
      let box = Rendition.Box(width: side, height: side)
      #expect(try answer(TestDrawing.disc, .svg, Rendition(.pixels, box: box), limits: limits).cause == cause)
    }
    let wide = Rendition(.pixels, box: Rendition.Box(width: 40_000, height: 1, fit: .fill))
    #expect(try answer(TestDrawing.disc, .svg, wide).cause == .tooLarge)
  }

  @Test func `what is no drawing after all is damaged, whatever its form`() throws {
    let broken = Array("<svg \(TestDrawing.namespace)><g></svg>".utf8)
    for rendition in [Rendition(.pixels), Rendition(.file(.webp, quality: nil)), Rendition(.description)] {
      let failed = try answer(broken, .svg, rendition)
      #expect(failed.cause == .damaged && failed.reason?.isEmpty == false)
    }
  }
}
