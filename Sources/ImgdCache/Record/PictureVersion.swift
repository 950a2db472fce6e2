internal import ImgdText

/// What tells two versions of a picture apart.
package struct PictureVersion: Sendable, Equatable {
  /// The checksum of its bytes.
  package let checksum: BodyChecksum
  /// When its origin last changed it, in seconds since 1970; nil where the origin does not say.
  package let modified: Int64?
}

extension CachedImage {
  /// The picture's version; without a time of its last change where the origin does not name one.
  package var version: PictureVersion {
    PictureVersion(
      checksum: checksum,
      modified: response.lastModified.flatMap { modification($0, readAt: storedAtWall) }.map { Int64($0) })
  }

  /// Whether others may keep it: its origin allows it, and its key has no credentials.
  package var mayBeKept: Bool { freshness.refusal == nil && scope == nil }
}

extension DiskEntry {
  /// The picture's version as the index in memory has it, without reading the record.
  var version: PictureVersion { PictureVersion(checksum: checksum, modified: modified > 0 ? Int64(modified) : nil) }
}

extension StoredRecord {
  /// When the origin last changed the picture, in seconds since 1970; zero where it does not say.
  var modified: UInt32 {
    HeaderPacking.value(of: "last-modified", in: headers).flatMap { modification($0, readAt: storedAt) } ?? 0
  }
}

/// A `Last-Modified` as the 32 bits of seconds that the index has room for; nil for any other text.
private func modification(_ text: String, readAt now: Int64) -> UInt32? {
  HTTPDate.parse(text, now: now).flatMap { UInt32(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
}
