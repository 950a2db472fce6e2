import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// Parts of pictures, and what lies behind pictures.
struct CutTests {
  /// The colour says the place: 200 by 100, of which red is the column and green the row.
  private static let places = Pixels(width: 200, height: 100) { x, y in [UInt8(x), UInt8(y), 0, 255] }
  private static let png = Rendition.Output.file(.png, quality: nil)

  private func made(
    _ box: Rendition.Box, of file: [UInt8]? = nil, _ format: PictureFormat = .png,
    as output: Rendition.Output = .pixels
  ) throws -> MadePicture {
    let file = try file ?? Self.places.file(TEST_VIPS_RGB, as: ".png")
    return try answer(file, format, Rendition(output, box: box)).made()
  }

  // MARK: Areas with a crop, turns and padding

  @Test(arguments: [
    (Rendition.Box.Crop.centre, 80, 30), (.point(x: 0, y: 1_000_000), 0, 60), (.point(x: 1_000_000, y: 0), 160, 0),
    (.point(x: 300_000, y: 500_000), 40, 30),
  ]) func `a part of so many pixels lies where its crop says`(
    crop: Rendition.Box.Crop, left: Int, top: Int
  ) throws {
    let made = try made(Rendition.Box(width: nil, height: nil, area: .init(around: crop, width: 40, height: 40)))
    #expect([made.width, made.height] == [40, 40])
    #expect(Array(made.color(0, 0).prefix(2)) == [UInt8(left), UInt8(top)])
  }

  @Test func `what draws the eye is looked for in the whole picture`() throws {
    let file = try Pixels(width: 200, height: 100) { x, y in
      150..<170 ~= x && 20..<40 ~= y ? [255, UInt8((x * 37 + y * 91) % 256), 0, 255] : [90, 90, 90, 255]
    }.file(TEST_VIPS_RGB, as: ".png")
    for orientation in [1, 8] {
      var box = Rendition.Box(width: nil, height: nil, area: .init(around: .attention, width: 40, height: 40))
      box.rotation = orientation == 1 ? 0 : 90
      let made = try made(box, of: file)
      #expect((0..<40).contains { x in (0..<40).contains { made.color(x, $0)[0] == 255 } })
    }
  }

  /// Where the column 0 of the row 0 is after a turn, and the row 99 of the column 199.
  @Test(arguments: [(90, 99, 0, 0, 199), (180, 199, 99, 0, 0), (270, 0, 199, 99, 0)])
  func `a picture is turned clockwise`(degrees: Int, left: Int, top: Int, right: Int, bottom: Int) throws {
    var box = Rendition.Box(width: nil, height: nil)
    box.rotation = degrees
    for output in [Rendition.Output.pixels, Self.png] {
      let made = try made(box, as: output).pixels()
      #expect([made.width, made.height] == (degrees == 180 ? [200, 100] : [100, 200]))
      #expect(Array(made.color(left, top).prefix(2)) == [0, 0])
      #expect(Array(made.color(right, bottom).prefix(2)) == [199, 99])
    }
  }

  @Test(arguments: 1...8) func `a turn follows on the orientation`(orientation: Int) throws {
    let file = try Pixels(width: 100, height: 60) { x, y in [UInt8(x), UInt8(y), 0, 255] }.file(
      TEST_VIPS_RGB, as: ".tif", orientation: orientation)
    let upright = try answer(file, .tiff).made()
    var box = Rendition.Box(width: nil, height: nil)
    box.rotation = 90
    let turned = try made(box, of: file, .tiff)
    #expect([upright.width, upright.height] == (orientation < 5 ? [100, 60] : [60, 100]))
    #expect([turned.width, turned.height] == [upright.height, upright.width])
    #expect(turned.color(turned.width - 1 - 7, 5) == upright.color(5, 7))
  }

  @Test func `each frame of an animation is turned`() throws {
    let file = try Pixels(width: 20, height: 30) { x, y in [UInt8(x * 12), UInt8(y * 8), 0, 255] }.file(
      TEST_VIPS_RGB, as: ".webp[lossless]", frames: 3)
    for width in [nil, 5] {
      var box = Rendition.Box(width: width, height: nil)
      box.rotation = 90
      let rendition = Rendition(.pixels, box: box, frames: .all)
      let made = try answer(file, .webp, rendition).made()
      let size = width.map { [$0, 2 * $0] } ?? [10, 20]
      #expect([made.width, made.height, made.delays.count] == size + [3])
    }
  }

  @Test func `padding is added on each side`() throws {
    var box = Rendition.Box(width: 100, height: nil, background: .init(red: 9, green: 8, blue: 7, alpha: 255))
    box.padding = .init(top: 1, right: 2, bottom: 3, left: 4)
    let made = try made(box)
    #expect([made.width, made.height] == [106, 54])
    for (x, y) in [(3, 20), (104, 20), (50, 0), (50, 51), (50, 53)] {
      #expect(made.color(x, y) == [9, 8, 7, 255], "\(x),\(y)")
    }
    for (x, y) in [(4, 1), (103, 50)] { #expect(made.color(x, y) != [9, 8, 7, 255], "\(x),\(y)") }
    box.padding = .init(top: 70_000, right: 0, bottom: 0, left: 0)
    #expect(
      try answer(Self.places.file(TEST_VIPS_RGB, as: ".png"), .png, Rendition(.pixels, box: box)).cause == .tooLarge)
  }

  /// What is cut of a picture that is enlarged to its least size.
  @Test func `a least size enlarges the picture and cuts what is too much`() throws {
    var box = Rendition.Box(width: 50, height: 50, crop: .point(x: 1_000_000, y: 500_000))
    box.minHeight = 400
    let made = try made(box)
    #expect([made.width, made.height] == [50, 50])
    #expect(made.color(49, 25)[0] >= 196 && abs(Int(made.color(25, 25)[1]) - 50) <= 2)
    box.minHeight = 30_000_000
    #expect(try answer(Self.places.file(TEST_VIPS_RGB, as: ".png"), .png, Rendition(.pixels, box: box)).cause == nil)
  }

  // MARK: Focal points

  /// The place of the middle in the picture, and where the point is wanted.
  @Test(arguments: [
    // Half as large: 100 by 50, of which 50 by 50 are kept.
    (50, 50, 400_000, 300_000, 80, 50), (50, 50, 0, 0, 50, 50), (50, 50, 1_000_000, 500_000, 150, 50),
    (50, 50, 250_000, 0, 50, 50), (50, 50, 600_000, 900_000, 120, 50),
    (100, 20, 100_000, 300_000, 100, 30), (100, 20, 0, 1_000_000, 100, 80),
  ]) func `a point comes as near to the middle as the picture allows`(
    width: Int, height: Int, x: Int, y: Int, column: Int, row: Int
  ) throws {
    let box = Rendition.Box(width: width, height: height, fit: .cover, crop: .point(x: x, y: y))
    for output in [Rendition.Output.pixels, Self.png] {
      let made = try made(box, as: output).pixels()
      #expect([made.width, made.height] == [width, height])
      let middle = made.color(width / 2, height / 2)
      #expect(abs(Int(middle[0]) - column) <= 2 && abs(Int(middle[1]) - row) <= 2, "\(middle)")
    }
  }

  @Test(arguments: 1...8) func `points and areas are those of the upright picture`(
    orientation: Int
  ) throws {
    let file = try Pixels(width: 100, height: 60) { x, y in [UInt8(x), UInt8(y), 0, 255] }.file(
      TEST_VIPS_RGB, as: ".png", orientation: orientation)
    let upright = try answer(file, .png).made()
    let area = Rendition.Box.Area(
      x: 200_000, y: 500_000, width: 500_000, height: 250_000, isRelative: true)
    let part = try made(Rendition.Box(width: nil, height: nil, area: area), of: file)
    #expect([part.width, part.height] == [upright.width / 2, upright.height / 4])
    #expect(part.color(0, 0) == upright.color(upright.width / 5, upright.height / 2))
    let box = Rendition.Box(
      width: 20, height: 20, fit: .cover, crop: .point(x: 300_000, y: 700_000))
    let seen = try made(box, of: file).color(10, 10)
    let wanted =
      upright.width > upright.height
      ? upright.color(max(upright.height / 2, upright.width * 3 / 10), upright.height / 2)
      : upright.color(upright.width / 2, min(upright.height - upright.width / 2, upright.height * 7 / 10))
    #expect(difference(seen, wanted) <= 3, "\(seen), not \(wanted)")
  }

  @Test func `a point is where it was in what is enlarged`() throws {
    for (point, column) in [(100_000, 20), (500_000, 100), (900_000, 180)] {
      let box = Rendition.Box(
        width: 400, height: 1_000, fit: .cover, crop: .point(x: point, y: 500_000), enlarges: true)
      let middle = try made(box).color(200, 500)
      #expect(abs(Int(middle[0]) - column) <= 1 && abs(Int(middle[1]) - 50) <= 1, "\(middle)")
    }
  }

  @Test(arguments: [(PictureFormat.gif, ".gif"), (.webp, ".webp[lossless]")])
  func `every frame is cut and padded alike`(format: PictureFormat, suffix: String) throws {
    // Two frames of 40 by 20: red or green on the left, blue on the right.
    let frames = Pixels(width: 40, height: 40) { x, y in
      x >= 20 ? [0, 0, 255, 255] : y < 20 ? [255, 0, 0, 255] : [0, 255, 0, 255]
    }
    let file = try frames.file(as: suffix, frames: 2)
    let right = Rendition.Box.Area(x: 20, y: 5, width: 10, height: 10, isRelative: false)
    let boxes = [
      Rendition.Box(width: 10, height: 10, fit: .cover, crop: .point(x: 1_000_000, y: 0)),
      Rendition.Box(width: nil, height: nil, area: right),
      Rendition.Box(width: 8, height: 8, fit: .fill, area: right),
    ]
    for box in boxes {
      let made = try made(box, of: file, format, as: .file(.webp, quality: 100))
      #expect(made.frames == 2)
      let corner = try made.pixels().color(5, 5)
      #expect(difference(corner, [0, 0, 255, 255]) <= 8, "\(corner)")
    }
    let blue = Rendition.Colour(red: 9, green: 8, blue: 7, alpha: 255)
    let looks: [(Rendition.Colour?, [UInt8])] = [(nil, [0, 0, 0, 0]), (blue, [9, 8, 7, 255])]
    for (background, seen) in looks {
      let pad = Rendition.Box(width: 40, height: 30, fit: .pad, background: background)
      let made = try made(pad, of: file, format, as: .file(.webp, quality: 100))
      #expect([made.width, made.height, made.frames] == [40, 30, 2])
      let first = try made.pixels()
      for row in [1, 28] { #expect(difference(first.color(20, row), seen) <= 8) }
      #expect(difference(first.color(8, 15), [255, 0, 0, 255]) <= 8)
    }
  }

  // MARK: Areas

  @Test(
    arguments: [
      (Rendition.Box.Area(x: 10, y: 20, width: 30, height: 40, isRelative: false), 10, 20, 30, 40),
      (.init(x: 190, y: 90, width: 50, height: 50, isRelative: false), 190, 90, 10, 10),
      (.init(x: 100_000, y: 200_000, width: 300_000, height: 400_000, isRelative: true), 20, 20, 60, 40),
      (.init(x: 0, y: 0, width: 1_000_000, height: 1_000_000, isRelative: true), 0, 0, 200, 100),
      (.init(x: 999_999, y: 0, width: 1, height: 1, isRelative: true), 199, 0, 1, 1),
      (.init(x: 333_333, y: 0, width: 666_667, height: 500_000, isRelative: true), 67, 0, 133, 50),
    ] as [(Rendition.Box.Area, Int, Int, Int, Int)])
  func `an area is cut out as far as it is in the picture`(
    area: Rendition.Box.Area, left: Int, top: Int, width: Int, height: Int
  ) throws {
    let part = try made(Rendition.Box(width: nil, height: nil, area: area))
    #expect([part.width, part.height] == [width, height])
    #expect(part.color(0, 0) == [UInt8(left), UInt8(top), 0, 255])
    let last = [UInt8(left + width - 1), UInt8(top + height - 1), 0, 255]
    #expect(part.color(width - 1, height - 1) == last)
  }

  @Test func `an area is cut out before all else`() throws {
    let area = Rendition.Box.Area(x: 100, y: 0, width: 100, height: 100, isRelative: false)
    let small = try made(Rendition.Box(width: 10, height: 10, area: area))
    #expect([small.width, small.height] == [10, 10])
    #expect(difference(small.color(0, 5), [104, 54, 0, 255]) <= 3)
    let jpeg = try Self.places.file(TEST_VIPS_RGB, as: ".jpg[Q=100,subsample_mode=off]")
    let tiny = try made(Rendition.Box(width: 5, height: 5, area: area), of: jpeg, .jpeg)
    #expect(difference(tiny.color(2, 2), [149, 49, 0, 255]) <= 6)
  }

  @Test func `an area outside of the picture is named`() throws {
    let area = Rendition.Box.Area(x: 200, y: 0, width: 1, height: 1, isRelative: false)
    let answer = try answer(
      try Self.places.file(as: ".png"), .png,
      Rendition(.pixels, box: Rendition.Box(width: nil, height: nil, area: area)))
    #expect(answer.cause == .unmade)
    #expect(answer.reason == "the area begins at 200,0, outside of the 200x100 pixels")
  }

  // MARK: Backgrounds

  @Test(
    arguments: [
      (nil, PictureFormat.png, [0, 0, 0, 0]), (nil, .jpeg, [255, 255, 255, 255]),
      (Rendition.Colour(red: 200, green: 100, blue: 50, alpha: 255), .png, [200, 100, 50, 255]),
      (Rendition.Colour(red: 200, green: 100, blue: 50, alpha: 255), .jpeg, [200, 100, 50, 255]),
      (Rendition.Colour(red: 200, green: 100, blue: 50, alpha: 51), .png, [200, 100, 50, 51]),
      (Rendition.Colour(red: 255, green: 0, blue: 0, alpha: 51), .jpeg, [255, 204, 204, 255]),
    ] as [(Rendition.Colour?, PictureFormat, [UInt8])])
  func `what a picture leaves of its box is filled`(
    background: Rendition.Colour?, format: PictureFormat, seen: [UInt8]
  ) throws {
    let sources = [
      try Self.places.file(TEST_VIPS_RGB, as: ".png"), try Self.places.file(as: ".png"),
      try Self.places.file(TEST_VIPS_GREY, as: ".png"),
    ]
    for file in sources {
      let box = Rendition.Box(width: 100, height: 100, fit: .pad, background: background)
      let made = try made(box, of: file, as: .file(format, quality: 100)).pixels()
      #expect([made.width, made.height] == [100, 100])
      for row in [0, 20, 79, 99] {
        #expect(difference(made.color(50, row), seen) <= 3, "\(made.color(50, row))")
      }
      #expect(made.color(50, 50)[3] == 255)
    }
    if format == .png {
      let box = Rendition.Box(width: 100, height: 100, fit: .pad, background: background)
      #expect(difference(try made(box).color(50, 10), seen) <= 1)
    }
  }

  @Test func `a smaller picture is padded without being enlarged`() throws {
    let box = Rendition.Box(width: 300, height: 120, fit: .pad)
    let made = try made(box)
    #expect([made.width, made.height] == [300, 120])
    #expect(made.color(49, 60)[3] == 0 && made.color(50, 10) == [0, 0, 0, 255])
    #expect(made.color(249, 109) == [199, 99, 0, 255] && made.color(250, 60)[3] == 0)
    let limits = DecodeLimits(pixels: 30_000)
    let refused = try answer(
      try Self.places.file(as: ".png"), .png, Rendition(.pixels, box: box), limits: limits)
    #expect(refused.cause == .tooLarge)
  }

  @Test func `what loses its alpha lies on the colour`() throws {
    let clear = try Pixels.plain([0, 0, 0, 0]).file(as: ".png")
    let red = Rendition.Colour(red: 255, green: 0, blue: 0, alpha: 255)
    let box = Rendition.Box(width: nil, height: nil, background: red)
    let jpeg = try made(box, of: clear, as: .file(.jpeg, quality: 100)).pixels()
    #expect(difference(jpeg.color(5, 5), [255, 0, 0, 255]) <= 3)
    let png = try made(box, of: clear, as: .file(.png, quality: nil)).pixels()
    #expect(png.color(5, 5)[3] == 0)
  }
}
