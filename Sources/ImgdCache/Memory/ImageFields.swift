internal import ImgdSystem

/// What an image is made of, but for its URL, its header fields and its bytes, which lie behind it.
///
/// There may be a million of them, so that small fields stand together, where they share words, and what
/// few images have is apart. What a hit looks at comes first.
package struct ImageFields {
  /// The part of an answer that is the same for everybody, encoded by the daemon.
  var replyPieces: [UInt8]?
  /// What few images have.
  var extras: ImageExtras?
  /// Its file on disk, or the last one.
  var file: StoredFile?
  /// Until when it may be shown without asking, as far as its age goes.
  var freshUntil: Instant
  /// The last purge that it was compared with.
  var checked: UInt64
  var lastAccess: Instant
  let storedAt: Instant
  let freshness: Freshness
  /// Its place in its tier; negative outside.
  var place: Int32 = -1
  let facts: ImageFacts
  /// Bytes that do not lie behind the fields: they are large, or in a memfd.
  var payload: Payload?
  /// The digest of its key; of no meaning where the key has a scope.
  let digest: KeyDigest
  /// Unknown for pixels.
  let checksum: BodyChecksum
  let serial: UInt64
  let storedAtWall: Int64
  /// The number of its file in the index, when an earlier process has left it; 0: none.
  var formerFile: UInt32 = 0

  /// How many bytes lie behind the fields: those of the URL, of the header fields, and of the picture.
  let urlCount: UInt16
  let headerCount: UInt16
  let bodyCount: UInt16

  let status: UInt16
  /// It is unknown when it was stored.
  let isTimeDoubtful: Bool
  /// Its bytes are those of a decoded picture.
  let isPixels: Bool
  /// It is a redirect that a public address has sent.
  let isFromPublicAddress: Bool
  var isPurged: Bool
  var isLent = false
  var isStale = false
}

/// What few images have: other parts of their key, tags, a description, an answer that depends on the
/// request, or that came by way of redirects.
final class ImageExtras {
  let distinction: KeyDistinction?
  let vary: VaryOutcome
  let tags: [String]
  let redirectTarget: String?
  /// A few bytes that stand for the picture, in a form that the daemon knows; empty without.
  let description: [UInt8]

  /// Nil where there is nothing of it.
  init?(
    distinction: KeyDistinction?, vary: VaryOutcome, tags: [String], redirectTarget: String?,
    description: [UInt8]
  ) {
    guard
      distinction != nil || vary != .none || !tags.isEmpty || redirectTarget != nil
        || !description.isEmpty
    else { return nil }
    self.distinction = distinction
    self.vary = vary
    self.tags = tags
    self.redirectTarget = redirectTarget
    self.description = description
  }

  /// The bytes it really holds.
  var cost: Int {
    Self.bookkeeping + (distinction?.identifier?.utf8.count ?? 0) + vary.cost
      + (redirectTarget?.utf8.count ?? 0) + description.count
      + tags.reduce(0) { $0 + $1.utf8.count + 16 }
  }

  /// The bytes of the object and of those that it holds, which are not counted one by one.
  private static let bookkeeping = 64
}
