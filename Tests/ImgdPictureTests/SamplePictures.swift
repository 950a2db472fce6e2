import ImgdPicture
import ImgdTestSupport
import Testing

/// One small picture of every format and variant, with the expected result of the probe.
enum SamplePictures {
  struct Sample: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let line: String
    var testDescription: String { name }
  }

  static let all = jpegs + pngs + gifs + webps + tiffs + bitmaps + boxes + codestreams + drawings

  private static let drawings = [
    Sample("SVG", TestDrawing.disc, line(.svg, 16, 16)),
    Sample(
      "SVG with a prologue",
      Array(
        """
        \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
        <!-- it's > "made" <svg> -->
        <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a>b" [
          <!ENTITY ns "http://www.w3.org/2000/svg"> <!-- isn't ]> --> <?x ]> ' ?>
          <!ELEMENT a (b)>
        ]>
        <?xml-stylesheet href="a.css"?>
        <s:svg xmlns:s='&ns;'
          height = "2.5in" width='10mm' s:viewBox="0 0 1 1"/>
        """.utf8), line(.svg, 38, 240)),
  ]

  private static let jpegs = [
    Sample("JPEG", TestPicture.jpeg(width: 37, height: 21), line(.jpeg, 37, 21)),
    Sample(
      "progressive JPEG", TestPicture.jpeg(width: 9, height: 70, progressive: true),
      line(.jpeg, 9, 70)),
    Sample(
      "turned JPEG", TestPicture.jpeg(width: 8, height: 8, orientation: 6),
      line(.jpeg, 8, 8, orientation: 6)),
    Sample(
      "turned JPEG, little endian",
      TestPicture.jpeg(width: 8, height: 8, orientation: 3, bigEndianExif: false),
      line(.jpeg, 8, 8, orientation: 3)),
    Sample(
      "JPEG with comments", TestPicture.jpeg(width: 8, height: 8, padding: 300), line(.jpeg, 8, 8)),
  ]

  private static let pngs = [
    Sample("PNG", TestPicture.png(width: 30, height: 3), line(.png, 30, 3)),
    Sample(
      "turned PNG", TestPicture.png(width: 5, height: 6, orientation: 8, padding: 40),
      line(.png, 5, 6, orientation: 8)),
    Sample("animated PNG", TestPicture.apng(frames: 5), line(.png, 4, 3, frames: 5)),
  ]

  private static let gifs = [
    Sample("GIF", TestPicture.gif(width: 33, height: 2), line(.gif, 33, 2)),
    Sample("GIF 87a", TestPicture.gif(width: 3, height: 2, is87a: true), line(.gif, 3, 2)),
    Sample(
      "animated GIF", TestPicture.gif(width: 3, height: 2, frames: 7, padding: 600),
      line(.gif, 3, 2, frames: 7)),
  ]

  private static let webps = [
    Sample("lossless WebP", TestPicture.webp(width: 300, height: 2), line(.webp, 300, 2)),
    Sample("lossy WebP", TestPicture.lossyWebP(width: 300, height: 2), line(.webp, 300, 2)),
    Sample(
      "turned WebP", TestPicture.webp(width: 4464, height: 2, orientation: 5),
      line(.webp, 4464, 2, orientation: 5)),
    Sample(
      "animated WebP", TestPicture.webp(width: 9, height: 8, frames: 4, padding: 20),
      line(.webp, 9, 8, frames: 4)),
  ]

  private static let tiffs = [false, true].flatMap { bigEndian in
    [false, true].map { isBig in
      Sample(
        "TIFF, big endian \(bigEndian), 64 bits \(isBig)",
        TestPicture.tiff(
          width: 7, height: 5, bigEndian: bigEndian, isBig: isBig, pages: 3, orientation: 4),
        line(.tiff, 7, 5, frames: 3, orientation: 4))
    }
  }

  private static let bitmaps =
    [12, 16, 40, 52, 56, 64, 108, 124].map { size in
      Sample(
        "BMP with \(size) bytes of header",
        TestPicture.bmp(width: 3, height: 4, headerSize: size), line(.bmp, 3, 4))
    } + [
      Sample(
        "BMP, top down", TestPicture.bmp(width: 3, height: 4, topDown: true), line(.bmp, 3, 4)),
      Sample("ICO", TestPicture.ico(sizes: [2, 8, 4]), line(.ico, 8, 8)),
      Sample("ICO of PNG", TestPicture.ico(sizes: [2, 20], asPNG: true), line(.ico, 20, 20)),
      Sample("cursor", TestPicture.ico(sizes: [4], isCursor: true), line(.ico, 4, 4)),
    ]

  private static let boxes = [
    Sample("AVIF", TestPicture.avif(width: 400, height: 300), line(.avif, 400, 300)),
    Sample(
      "AVIF sequence", TestPicture.avif(width: 40, height: 30, frames: 12),
      line(.avif, 40, 30, frames: 12)),
    Sample(
      "turned HEIC", TestPicture.heic(width: 4032, height: 3024, changes: [.rotate(3)]),
      line(.heic, 4032, 3024, orientation: 6)),
    Sample(
      "HEIC sequence", TestPicture.heic(width: 40, height: 30, frames: 3),
      line(.heic, 40, 30, frames: 3)),
  ]

  private static let codestreams = [
    Sample("JPEG XL", TestPicture.jxl(width: 123, height: 77), line(.jxl, 123, 77)),
    Sample(
      "JPEG XL in a box", TestPicture.jxl(width: 64, height: 8, orientation: 7, inBoxes: true),
      line(.jxl, 64, 8, orientation: 7)),
    Sample(
      "JPEG XL in parts", TestPicture.jxl(width: 500, height: 500, inParts: true),
      line(.jxl, 500, 500)),
    Sample("JP2", TestPicture.jp2(width: 70, height: 80), line(.jp2, 70, 80)),
    Sample(
      "bare JPEG 2000", TestPicture.jp2(width: 70, height: 80, inBoxes: false), line(.jp2, 70, 80)),
  ]
}

extension SamplePictures.Sample {
  fileprivate init(_ name: String, _ bytes: [UInt8], _ line: String) {
    self.init(name: name, bytes: bytes, line: line)
  }
}

/// The probe's result for some bytes, as one line.
func verdict(_ bytes: [UInt8]) -> String {
  do throws(NotAPicture) {
    let picture = try PictureProbe.recognise(bytes.span)
    let size = "\(picture.format.name) \(picture.width)x\(picture.height)"
    return size + " frames \(picture.frames) orientation \(picture.orientation)"
  } catch {
    return error.reason
  }
}

/// A line like `verdict` writes it, with the defaults of a plain picture.
func line(
  _ format: PictureFormat, _ width: Int, _ height: Int, frames: Int = 1, orientation: Int = 1
) -> String {
  "\(format.name) \(width)x\(height) frames \(frames) orientation \(orientation)"
}
