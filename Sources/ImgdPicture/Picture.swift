/// What the first bytes of a file say about the picture in it.
package struct Picture: Sendable, Equatable {
  package let format: PictureFormat
  /// Pixels in a stored row: `orientation` is not applied, so a phone's upright photo may be wide.
  /// Rows and columns that a HEIC was padded with, and says to cut off, are not counted.
  package let width: Int
  /// Stored rows, again before `orientation`.
  package let height: Int
  /// Pictures that follow one another: 1 for a still, the pages of a TIFF, and 1 for an icon, whose
  /// entries are alternatives. An animated JPEG XL counts as 1: only decoding would tell.
  package let frames: Int
  /// EXIF's number from 1 to 8 that says how to turn the picture upright; 1 when nothing is said.
  package let orientation: Int

  package init(
    format: PictureFormat, width: Int, height: Int, frames: Int = 1, orientation: Int = 1
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.orientation = orientation
  }
}

/// Bytes that are no picture, or one that breaks off before its size is known.
package struct NotAPicture: Error, Sendable, Equatable {
  /// A phrase for people that completes "not an image: …", such as "an HTML page".
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }
}
