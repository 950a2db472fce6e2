/// Segments after markers, up to the frame header with the size.
enum JPEG {
  private static let frameHeaders: ClosedRange<Int> = 0xC0...0xCF
  private static let application1 = 0xE1

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    var orientation: Int?
    var walk = MarkerWalk()
    while let marker = walk.next(in: bytes), !isPastHeaders(marker) {
      if isFrameHeader(marker) {
        guard let height = bytes.big16(at: walk.offset + 3), let width = bytes.big16(at: walk.offset + 5) else {
          throw NotAPicture(reason: "JPEG that ends inside its frame header")
        }
        return PictureMeasures(format: .jpeg, width: width, height: height, orientation: orientation ?? 1)
      }
      guard let length = bytes.big16(at: walk.offset), length >= 2 else { break }
      if marker == application1, orientation == nil {
        let end = min(walk.offset + length, bytes.count)
        let payload = bytes.extracting(min(walk.offset + 2, end)..<end)
        orientation = Exif.orientation(in: payload, isNamed: true)
      }
      walk.offset += length
    }
    throw NotAPicture(reason: "JPEG that ends before its frame header")
  }

  /// Baseline, extended, progressive, lossless and arithmetic frames; three markers in between are tables.
  static func isFrameHeader(_ marker: Int) -> Bool {
    frameHeaders.contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
  }

  /// The end of the image, or a scan, which must not precede the frame header.
  static func isPastHeaders(_ marker: Int) -> Bool { marker == 0xD9 || marker == 0xDA }
}

/// Finds markers as decoders do: fill bytes, restart markers and stray bytes are skipped.
struct MarkerWalk {
  /// The offset after the marker that `next` returned: the length of its segment.
  var offset = 2
  private var stepsLeft = PictureProbe.mostSteps

  mutating func next(in bytes: Span<UInt8>) -> Int? {
    while stepsLeft > 0, let first = bytes.byte(at: offset), let second = bytes.byte(at: offset + 1) {
      stepsLeft -= 1
      let isMarker = first == 0xFF && second != 0xFF && second != 0
      offset += isMarker ? 2 : 1
      if isMarker && !Self.standsAlone(second) { return second }
    }
    return nil
  }

  private static func standsAlone(_ marker: Int) -> Bool { marker == 0x01 || (0xD0...0xD8).contains(marker) }
}

/// How the pixels of a JPEG are coded, as far as that decides how long it takes to read them.
package struct JPEGCoding: Equatable, Sendable {
  package let isProgressive: Bool
  package let colours: Int

  package init(isProgressive: Bool, colours: Int) {
    self.isProgressive = isProgressive
    self.colours = colours
  }

  /// The usual coding, also assumed for bytes that are no JPEG.
  package static let baseline = JPEGCoding(isProgressive: false, colours: 3)

  /// Reads the coding from the frame header.
  package init(_ bytes: Span<UInt8>) {
    var walk = MarkerWalk()
    while let marker = walk.next(in: bytes), !JPEG.isPastHeaders(marker) {
      if JPEG.isFrameHeader(marker) {
        // With Huffman or arithmetic codes, alone or differential.
        isProgressive = [0xC2, 0xC6, 0xCA, 0xCE].contains(marker)
        colours = bytes.byte(at: walk.offset + 7) ?? 3
        return
      }
      guard let length = bytes.big16(at: walk.offset), length >= 2 else { break }
      walk.offset += length
    }
    self = .baseline
  }
}

/// A codestream that begins with its size, bare or in boxes, one of which repeats the size.
enum JPEG2000 {
  /// The size is that of the reference grid, less the offset of the picture in it.
  static func measureCodestream(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let right = bytes.big32(at: 8), let bottom = bytes.big32(at: 12), let left = bytes.big32(at: 16),
      let top = bytes.big32(at: 20)
    else { throw NotAPicture(reason: "JPEG 2000 that ends inside its header") }
    return PictureMeasures(
      format: .jp2, width: right - left, height: bottom - top, isOpaque: isOpaque(bytes.big16(at: 40)))
  }

  static func measureContainer(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let header = BoxWalk.first(at: ["jp2h", "ihdr"], in: 0..<bytes.count, of: bytes),
      let height = bytes.big32(at: header.lowerBound), let width = bytes.big32(at: header.lowerBound + 4)
    else { throw NotAPicture(reason: "JPEG 2000 without an image header") }
    return PictureMeasures(
      format: .jp2, width: width, height: height, isOpaque: isOpaque(bytes.big16(at: header.lowerBound + 8)))
  }

  /// One component is grey, three are colours; more may be alpha.
  private static func isOpaque(_ components: Int?) -> Bool { components == 1 || components == 3 }
}

/// A codestream whose first bits are the size, bare or in a box.
enum JPEGXL {
  static func measureCodestream(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    try measure(codestreamAt: 0, in: bytes)
  }

  /// The codestream is one box, or parts; the size is in the first part, after its number.
  static func measureContainer(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    var walk = BoxWalk(0..<bytes.count)
    while let box = walk.next(in: bytes) {
      switch box.name {
      case "jxlc": return try measure(codestreamAt: box.body.lowerBound, in: bytes)
      case "jxlp": return try measure(codestreamAt: box.body.lowerBound + 4, in: bytes)
      default: break
      }
    }
    throw NotAPicture(reason: "JPEG XL without a codestream")
  }

  private static func measure(codestreamAt start: Int, in bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard bytes.big16(at: start) == 0xFF0A else {
      throw NotAPicture(reason: "JPEG XL without the start of its codestream")
    }
    var bits = BitReader(offset: start + 2)
    guard let size = size(&bits, bytes), let (orientation, isOpaque) = metadata(&bits, bytes) else {
      throw NotAPicture(reason: "JPEG XL that ends inside its header")
    }
    return PictureMeasures(
      format: .jxl, width: size.width, height: size.height, orientation: orientation, isOpaque: isOpaque)
  }

  private static func size(_ bits: inout BitReader, _ bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    guard let isSmall = bits.read(1, in: bytes), let height = side(isSmall: isSmall == 1, &bits, bytes),
      let ratio = bits.read(3, in: bytes)
    else { return nil }
    guard ratio == 0 else {
      let (across, down) = ratios[ratio - 1]
      return (height * across / down, height)
    }
    return side(isSmall: isSmall == 1, &bits, bytes).map { ($0, height) }
  }

  /// Width to height for the numbers 1 to 7.
  private static let ratios = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)]

  /// Small sides are multiples of eight up to 256, others have one of four bit widths.
  private static func side(isSmall: Bool, _ bits: inout BitReader, _ bytes: Span<UInt8>) -> Int? {
    if isSmall { return bits.read(5, in: bytes).map { ($0 + 1) * 8 } }
    guard let selector = bits.read(2, in: bytes) else { return nil }
    return bits.read([9, 13, 18, 30][selector], in: bytes).map { $0 + 1 }
  }

  /// After the size: one bit for all defaults, without alpha, and one for extra fields, the first of which is the
  /// orientation. What follows, channels such as alpha among it, is not read.
  private static func metadata(_ bits: inout BitReader, _ bytes: Span<UInt8>) -> (orientation: Int, isOpaque: Bool)? {
    guard let isDefault = bits.read(1, in: bytes) else { return nil }
    if isDefault == 1 { return (1, true) }
    guard let hasExtra = bits.read(1, in: bytes) else { return nil }
    return hasExtra == 0 ? (1, false) : bits.read(3, in: bytes).map { ($0 + 1, false) }
  }
}

/// Reads bits from the low end of each byte, as JPEG XL packs them.
private struct BitReader {
  private var position: Int

  init(offset: Int) { position = offset * 8 }

  mutating func read(_ count: Int, in bytes: Span<UInt8>) -> Int? {
    var value = 0
    for bit in 0..<count {
      guard let byte = bytes.byte(at: position >> 3) else { return nil }
      value |= (byte >> (position & 7) & 1) << bit
      position += 1
    }
    return value
  }
}
