/// Segments after markers, up to the frame header with the size.
enum JPEG {
  private static let frameHeaders: ClosedRange<Int> = 0xC0...0xCF
  private static let application1 = 0xE1

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    var orientation: Int?
    var walk = MarkerWalk()
    while let marker = walk.next(in: bytes), !isPastHeaders(marker) {
      if isFrameHeader(marker) { return try frame(at: walk.offset, in: bytes, orientation: orientation ?? 1) }
      guard let length = bytes.big16(at: walk.offset), length >= 2 else { break }
      if marker == application1, orientation == nil {
        orientation = exifOrientation(at: walk.offset, length: length, in: bytes)
      }
      walk.offset += length
    }
    throw NotAPicture(reason: "JPEG that ends before its frame header")
  }

  /// Baseline, extended, progressive, lossless and arithmetic frames; three markers in between are
  /// tables.
  static func isFrameHeader(_ marker: Int) -> Bool {
    frameHeaders.contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
  }

  /// The end of the image, or a scan, which must not precede the frame header.
  static func isPastHeaders(_ marker: Int) -> Bool { marker == 0xD9 || marker == 0xDA }

  private static func frame(at offset: Int, in bytes: Span<UInt8>, orientation: Int) throws(NotAPicture)
    -> PictureMeasures
  {
    guard let height = bytes.big16(at: offset + 3), let width = bytes.big16(at: offset + 5) else {
      throw NotAPicture(reason: "JPEG that ends inside its frame header")
    }
    return PictureMeasures(format: .jpeg, width: width, height: height, orientation: orientation)
  }

  private static func exifOrientation(at offset: Int, length: Int, in bytes: Span<UInt8>) -> Int? {
    let payload = offset + 2
    let end = min(offset + length, bytes.count)
    guard payload < end else { return nil }
    return Exif.orientation(in: bytes.extracting(payload..<end), isNamed: true)
  }
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
