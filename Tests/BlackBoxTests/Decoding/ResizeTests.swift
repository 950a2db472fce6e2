import ImgdTestSupport
import ImgdWire
import Testing

/// The sizes, formats and frames of what is made of pictures.
struct ResizeTests {
  private static let daemon = SharedDaemon()
  private let stage: Stage

  init() throws {
    stage = try Self.daemon.stage()
    stage.offer(TestPicture.png(.gradient(width: 120, height: 80)), at: "/a.png")
  }

  /// What is asked of 120 x 80 pixels, and the size that comes of it.
  private static let sizes: [(fields: String, width: Int, height: Int)] = [
    (#""width":60"#, 60, 40), (#""height":20"#, 30, 20),
    (#""width":60,"height":60"#, 60, 40), (#""width":500,"height":20"#, 30, 20),
    (#""width":7,"height":7"#, 7, 5), (#""width":1,"height":1"#, 1, 1),
    (#""width":60,"height":60,"fit":"cover""#, 60, 60),
    (#""width":10,"height":70,"fit":"cover""#, 10, 70),
    (#""width":60,"height":60,"fit":"cover","crop":"attention""#, 60, 60),
    (#""width":60,"height":60,"fit":"fill""#, 60, 60),
    (#""width":13,"height":79,"fit":"fill""#, 13, 79),
    (#""width":240"#, 120, 80), (#""width":240,"enlarge":true"#, 240, 160),
    (#""height":81,"enlarge":true"#, 122, 81),
    (#""width":300,"height":300,"fit":"cover","enlarge":true"#, 300, 300),
    (#""width":130,"height":90,"fit":"fill","enlarge":true"#, 130, 90),
    (#""width":200,"height":40,"fit":"fill""#, 120, 40),
    (#""width":200,"height":40,"fit":"cover""#, 120, 40),
    (#""width":60,"linear":true"#, 60, 40),
  ]

  @Test func `each way to fit has its exact size, in the line and in the file`() throws {
    for size in Self.sizes {
      let (bytes, line) = try stage.variant(of: "/a.png", #""resize":{\#(size.fields)}"#)
      #expect(line["format"]?.string == "png")
      #expect(line["width"]?.integer == Int64(size.width), "\(size)")
      #expect(line["height"]?.integer == Int64(size.height), "\(size)")
      let pixels = try stage.pixels(of: bytes, at: "/\(size.width)x\(size.height)\(bytes.count)")
      #expect(pixels.width == size.width && pixels.height == size.height, "\(size)")
    }
  }

  /// Or one request could take a picture from all others.
  @Test func `a form that is too large says nothing of the picture, under any of its URLs`() throws {
    stage.offer(TestPicture.png(.gradient(width: 2, height: 2)), at: "/small.png")
    stage.offer(TestPicture.png(.gradient(width: 2, height: 2)), at: "/again.png")
    for (form, limit) in [
      (
        #""format":"jpeg","resize":{"width":65535,"height":9,"fit":"fill","enlarge":true}"#, "65500"
      ),
      (
        #""format":"webp","resize":{"width":9,"height":16384,"fit":"fill","enlarge":true}"#, "16383"
      ),
      (#""resize":{"width":50,"height":16384,"fit":"cover","enlarge":true}"#, "100000000"),
    ] {
      let line = try stage.ask("/small.png", #""deliver":"none",\#(form)"#)
      #expect(line.failureCode == "too_many_pixels")
      #expect(line.failureMessage.contains(" at most \(limit) "), "\(line.text)")
    }
    for path in ["/small.png", "/again.png"] {
      #expect(try stage.ask(path, #""deliver":"none","resize":{"width":1}"#)["ok"] == true)
    }
    #expect(try stage.stats("decode", "killed") == 0)
  }

  @Test func `the middle is kept by a crop`() throws {
    let pixels = TestPixels(width: 90, height: 30) { x, _ in
      x / 30 == 1 ? [10, 200, 10, 255] : [200, 10, 10, 255]
    }
    stage.offer(TestPicture.png(pixels), at: "/b.png")
    let (bytes, _) = try stage.variant(
      of: "/b.png", #""resize":{"width":30,"height":30,"fit":"cover"}"#)
    #expect(
      try stage.pixels(of: bytes, at: "/c.png")
        == .plain([10, 200, 10, 255], width: 30, height: 30))
  }

  private static let colours: [[UInt8]] = [
    [200, 10, 20], [10, 200, 20], [10, 20, 200], [9, 9, 9],
  ]

  @Test(arguments: [
    (#""resize":{"width":10}"#, "gif", 4), (#""resize":{"width":10},"frames":"first""#, "gif", 1),
    (#""frames":"first""#, "gif", 1), (#""format":"webp""#, "webp", 4),
    (#""format":"webp","frames":"first""#, "webp", 1),
    (#""resize":{"width":10,"height":10,"fit":"cover"},"format":"webp""#, "webp", 4),
    (#""format":"jpeg""#, "jpeg", 1), (#""format":"png""#, "png", 1),
    (#""resize":{"width":10},"format":"avif""#, "avif", 1),
  ])
  func `an animation stays one where the format can move, unless the first frame is wanted`(
    fields: String, format: String, frames: Int
  ) throws {
    stage.offer(TestPicture.gif(width: 20, height: 20, colours: Self.colours), at: "/a.gif")
    let (bytes, line) = try stage.variant(of: "/a.gif", fields)
    #expect(line["format"]?.string == format && line["frames"]?.integer == Int64(frames))
    #expect(line["type"]?.string == "image/\(format)")
    // What the daemon finds in the bytes is what it said of them.
    stage.offer(bytes, at: "/b")
    let found = try stage.ask("/b")
    for field in ["format", "frames", "width", "height"] { #expect(found[field] == line[field]) }
    let first = try stage.pixels(of: "/b")[5, 5]
    #expect(zip(first, [200, 10, 20, 255]).allSatisfy { abs(Int($0) - $1) < 12 }, "\(first)")
  }

  @Test func `a worse quality makes a smaller file`() throws {
    var noise = Noise(seed: 5)
    let pixels = TestPixels(width: 64, height: 64) { _, _ in noise.bytes(3) + [255] }
    stage.offer(TestPicture.png(pixels), at: "/noise.png")
    for format in ["jpeg", "webp", "avif"] {
      let sizes = try [20, 60, 95].map { quality in
        try stage.variant(of: "/noise.png", #""format":"\#(format)","quality":\#(quality)"#).bytes
          .count
      }
      #expect(sizes == sizes.sorted() && Set(sizes).count == 3, "\(format): \(sizes)")
    }
  }

  @Test func `what is clear becomes white in a format without alpha`() throws {
    stage.offer(TestPicture.png(.plain([0, 0, 0, 0])), at: "/clear.png")
    let (bytes, _) = try stage.variant(of: "/clear.png", #""format":"jpeg""#)
    #expect(try stage.pixels(of: bytes, at: "/b") == .plain([255, 255, 255, 255]))
  }
}
