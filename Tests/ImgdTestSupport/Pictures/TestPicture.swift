// Generated pictures, so that tests need no files and know all properties. JPEG, PNG, GIF, BMP, TIFF,
// ICO and lossless WebP are real pictures that any decoder shows; AVIF, HEIC, JPEG XL, JPEG 2000 and
// lossy WebP are only the structure without pixels.

/// Makes pictures of a given format, size and number of bytes.
package enum TestPicture {
  /// A JPEG of exactly `bytes` bytes; another seed gives other content.
  package static func jpeg(bytes: Int, seed: UInt64 = 0) -> [UInt8] {
    let bare = jpeg(width: 16, height: 16, seed: seed).count
    return jpeg(
      width: 16, height: 16, seed: seed, padding: padding(for: bytes, from: bare, least: 4))
  }

  /// A PNG of exactly so many bytes; another seed gives other bytes.
  package static func png(bytes: Int, seed: UInt64 = 0) -> [UInt8] {
    let bare = png(width: 16, height: 16, seed: seed).count
    return png(
      width: 16, height: 16, seed: seed, padding: padding(for: bytes, from: bare, least: 12))
  }

  private static func padding(for bytes: Int, from bare: Int, least: Int) -> Int {
    let padding = bytes - bare
    precondition(
      padding == 0 || padding >= least,
      "a test picture of \(bytes) bytes must have \(bare), or at least \(bare + least)")
    return padding
  }
}

/// Repeatable noise: the same seed gives the same picture on every machine.
package struct Noise: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed &+ 0x9E37_79B9_7F4A_7C15
  }

  /// Marsaglia's xorshift, whose state must not be zero.
  package mutating func next() -> UInt64 {
    if state == 0 { state = 1 }
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }
}
