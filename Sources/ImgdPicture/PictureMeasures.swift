/// The format and measures of a picture, from the structure of its file.
package struct PictureMeasures: Sendable, Equatable {
  package let format: PictureFormat
  /// Pixels in a stored row: `orientation` is not applied, so a phone's upright photo may be wide.
  /// Padding that a HEIC declares as such is not counted.
  package let width: Int
  /// Stored rows, again before `orientation`.
  package let height: Int
  /// Pictures in sequence: 1 for a still, the pages of a TIFF, and 1 for an icon, whose entries are
  /// alternatives. An animated JPEG XL counts as 1, because its frames could only be counted by decoding.
  package var frames = 1
  /// EXIF's orientation from 1 to 8; 1, upright, when there is none.
  package var orientation = 1
}

/// The bytes are no picture, or one that breaks off before its size.
package struct NotAPicture: Error, Sendable, Equatable {
  /// A phrase for people that completes "not an image: …", such as "an HTML page".
  package let reason: String
}
