/// A combination of quarter turns and mirrors, as EXIF's number. Every combination equals some anticlockwise quarter
/// turns, followed by at most one vertical flip.
struct Orientation: Equatable {
  static let upright = Orientation(quarters: 0, isFlipped: false)

  private var quarters: Int
  private var isFlipped: Bool

  /// Anticlockwise. A turn after a flip equals the opposite turn before it.
  mutating func rotate(quarters more: Int) { quarters = (isFlipped ? quarters - more : quarters + more) & 3 }

  /// A horizontal flip equals half a turn and a vertical flip.
  mutating func mirror(leftToRight: Bool) {
    if leftToRight { rotate(quarters: 2) }
    isFlipped.toggle()
  }

  var exif: Int { (isFlipped ? [4, 5, 2, 7] : [1, 8, 3, 6])[quarters] }
}

/// The metadata that cameras store in their pictures as a small TIFF.
enum Exif {
  /// EXIF's orientation from the first directory; nil when there is none from 1 to 8. The payload is a whole segment
  /// or chunk; a leading `Exif` and two zeros are skipped. Where that name is required, as in a JPEG, a payload
  /// without it is something else, such as XMP.
  static func orientation(in payload: Span<UInt8>, isNamed: Bool) -> Int? {
    let hasName = payload.big32(at: 0) == 0x4578_6966 && payload.big16(at: 4) == 0
    guard hasName || !isNamed else { return nil }
    let tiff = payload.extracting((hasName ? 6 : 0)..<payload.count)
    return TIFFDirectories(tiff)?.orientation(in: tiff)
  }
}
