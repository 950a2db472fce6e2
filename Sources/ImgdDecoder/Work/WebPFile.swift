/// A WebP file as the library writes it: whatever it is told, it adds a chunk about resolution and the like, which is
/// larger than some icons.
enum WebPFile {
  private static let dropped = ["EXIF", "XMP "].map { Array($0.utf8) }
  /// The bits for such chunks in the flags of the extended header.
  private static let notes: UInt8 = 0b0000_1100

  /// The file without chunks that are not about pixels; unchanged if it is not built as expected.
  static func withoutNotes(_ file: [UInt8]) -> [UInt8] {
    guard file.count >= 12 else { return file }
    var kept = Array(file[..<12])
    var next = 12
    while next < file.count {
      guard file.count - next >= 8 else { return file }
      let size = (0..<4).reduce(0) { $0 | Int(file[next + 4 + $1]) << (8 * $1) }
      // Chunks begin at even places.
      let whole = 8 + size + size % 2
      guard whole <= file.count - next else { return file }
      let name = Array(file[next..<next + 4])
      if !dropped.contains(name) {
        if name == Array("VP8X".utf8), size > 0 {
          kept += file[next..<next + 8] + [file[next + 8] & ~notes]
          kept += file[next + 9..<next + whole]
        } else {
          kept += file[next..<next + whole]
        }
      }
      next += whole
    }
    for byte in 0..<4 { kept[4 + byte] = UInt8(truncatingIfNeeded: (kept.count - 8) >> (8 * byte)) }
    return kept
  }
}
