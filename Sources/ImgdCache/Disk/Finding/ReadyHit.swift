package import ImgdSystem

/// What the index in memory has of a fresh picture on disk.
package struct FreshEntry: Sendable {
  package let facts: ImageFacts
  package let checksum: BodyChecksum
  package let age: Int
  package let freshFor: Int
}

/// A hit on disk that is answered without a look at the index file, with the picture's bytes if the answer
/// includes them.
package struct ReadyHit: ~Copyable {
  /// What the answer includes of the picture, besides its facts.
  package enum Form: Sendable {
    case facts
    /// The path of its file, which is leased.
    case path
    /// Its file, opened for reading.
    case descriptor
    /// Its bytes, if there are at most that many.
    case bytes(atMost: Int)
  }

  /// The bytes, in the form that was asked for.
  package enum Content: ~Copyable {
    case none
    case descriptor(FileDescriptor)
    case bytes(Payload)
  }

  package let details: EntryDetails
  package let version: PictureVersion
  private let content: Content

  init(_ details: EntryDetails, _ version: PictureVersion, _ content: consuming Content) {
    self.details = details
    self.version = version
    self.content = content
  }

  /// Hands the bytes over.
  package consuming func takeContent() -> Content { content }
}
