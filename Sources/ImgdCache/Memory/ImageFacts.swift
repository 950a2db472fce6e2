package import ImgdSystem

/// The facts of a picture that are known without decoding it; the cache keeps them without using them.
package struct ImageFacts: Sendable, Equatable {
  /// A number to which only the daemon gives a meaning.
  package let format: UInt8
  package let orientation: UInt8
  package let width: Int32
  package let height: Int32
  package let frames: Int32

  /// The facts of an answer without a picture.
  package static let none = ImageFacts(format: .max, width: 0, height: 0, frames: 0, orientation: 0)

  package init(format: UInt8, width: Int, height: Int, frames: Int, orientation: Int) {
    self.format = format
    self.orientation = UInt8(clamping: orientation)
    self.width = Int32(clamping: width)
    self.height = Int32(clamping: height)
    self.frames = Int32(clamping: frames)
  }
}

/// The bytes of an image, and what they show.
package struct ImageBody {
  package let payload: Payload
  package let facts: ImageFacts
  package let checksum: BodyChecksum
  /// A few bytes that stand for the picture, as the daemon has encoded them; empty if there are none.
  package let description: [UInt8]
  /// Whether the bytes are those of a decoded picture.
  package let isPixels: Bool

  /// Computes the checksum over all the bytes if none is given.
  package init(
    _ payload: Payload, facts: ImageFacts, checksum: BodyChecksum? = nil, description: [UInt8] = [],
    isPixels: Bool = false
  ) {
    self.payload = payload
    self.facts = facts
    self.checksum = checksum ?? BodyChecksum(of: payload)
    self.description = description
    self.isPixels = isPixels
  }
}
