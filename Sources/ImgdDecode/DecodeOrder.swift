package import ImgdPicture
package import ImgdSystem

/// What a decoder is asked for: a picture's bytes, which travel as a sealed memfd, and the form wanted.
package struct DecodeOrder: Sendable {
  /// Repeated in the answer.
  package let serial: UInt64
  /// As recognised by the bytes; no loader of another format is tried.
  package let format: PictureFormat
  /// The bytes of the picture, in a memfd.
  package let picture: Payload
  package let rendition: Rendition
  package let limits: DecodeLimits

  package init(serial: UInt64, format: PictureFormat, picture: Payload, rendition: Rendition, limits: DecodeLimits) {
    self.serial = serial
    self.format = format
    self.picture = picture
    self.rendition = rendition
    self.limits = limits
  }
}

/// Limits for a picture that is decoded, and for what is made of it.
package struct DecodeLimits: Hashable, Sendable {
  /// Pixels of all frames together.
  package var pixels: Int
  package var frames: Int
  /// Pixels of either side.
  package var dimension: Int

  package init(pixels: Int = 100_000_000, frames: Int = 1_000, dimension: Int = 65_535) {
    self.pixels = pixels
    self.frames = frames
    self.dimension = dimension
  }
}
