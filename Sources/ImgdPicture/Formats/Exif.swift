/// The orientation out of the small TIFF that cameras hide in their pictures.
enum Exif {
  private static let nameLength = 6

  /// EXIF's number out of the first directory, nil when there is none from 1 to 8.
  ///
  /// The payload is all of a segment or chunk; `Exif` and two zeros in front are passed over.
  /// Where it must be named, as in a JPEG, what lacks that name is something else, such as XMP.
  static func orientation(in payload: Span<UInt8>, isNamed: Bool) -> Int? {
    let hasName = startsWithName(payload)
    guard hasName || !isNamed else { return nil }
    let tiff = payload.extracting((hasName ? nameLength : 0)..<payload.count)
    guard let directories = TIFFDirectories(tiff) else { return nil }
    return directories.orientation(in: tiff)
  }

  private static func startsWithName(_ payload: Span<UInt8>) -> Bool {
    payload.big32(at: 0) == 0x4578_6966 && payload.big16(at: 4) == 0
  }
}
