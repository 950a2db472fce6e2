package import ImgdPicture
package import ImgdSystem

/// What a decoder has made of an order.
package enum DecodeAnswer: Sendable {
  case picture(MadePicture)
  case description(PictureDescription)
  case failure(DecodeFailure)
}

/// Pixels or a file, in a sealed memfd.
package struct MadePicture: Sendable {
  /// Nil for pixels: four bytes each, row after row without a gap.
  package let format: PictureFormat?
  /// The width of the upright picture.
  package let width: Int
  package let height: Int
  /// The frames of the file; for pixels, those of the picture that they were decoded from.
  package let frames: Int
  package let content: Payload

  package init(format: PictureFormat?, width: Int, height: Int, frames: Int, content: Payload) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.content = content
  }
}

/// A few bytes that stand for a picture until it can be shown.
package struct PictureDescription: Hashable, Sendable {
  /// About 25 bytes; see evanw.github.io/thumbhash.
  package let thumbHash: [UInt8]
  /// Red, green, blue and alpha of the mean colour.
  package let average: [UInt8]

  package init(thumbHash: [UInt8], average: [UInt8]) {
    self.thumbHash = thumbHash
    self.average = average
  }
}

/// Why an order has no result.
package struct DecodeFailure: Error, Hashable, Sendable {
  /// The kinds of reasons, each of which has an answer of its own.
  package enum Cause: UInt8, Sendable, CaseIterable {
    /// The bytes are damaged, or not what they seem to be.
    case damaged
    /// The library cannot read or write such a picture.
    case unsupported
    /// More pixels, frames or bytes than the limits allow.
    case tooLarge
    /// The decoder ended while it worked on the order.
    case crashed
    /// The order took longer than it may.
    case timedOut
    /// There is no decoder, or none that may be used.
    case unavailable
    /// The order was given up before it was begun.
    case stopped
    /// Too much waits for a decoder already.
    case queueFull
    /// The picture can be read, but this form of it could not be made.
    case unmade
    /// The decoder was killed from outside while it worked on the order, more than once.
    case killed
  }

  package let cause: Cause
  /// A phrase for people.
  package let reason: String

  package init(_ cause: Cause, _ reason: String) {
    self.cause = cause
    self.reason = reason
  }
}
