/// Tells pictures from everything else, and measures them, without decoding a pixel.
package enum PictureProbe {
  /// Reads the format, size, frames and orientation off the structure of a whole file.
  ///
  /// - Throws: `NotAPicture` with what the bytes look like instead, or what is wrong with them.
  package static func recognise(_ bytes: Span<UInt8>) throws(NotAPicture) -> Picture {
    throw NotAPicture(reason: "no known picture format")
  }
}
