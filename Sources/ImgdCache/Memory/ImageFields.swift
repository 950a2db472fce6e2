internal import ImgdSystem

/// The fields of an image other than its URL, its header fields and its bytes, which lie behind them.
///
/// There may be a million of them, so small fields stand together, where they share words, and those that
/// few images have are apart. The fields that a hit looks at come first.
package struct ImageFields {
  /// The part of an answer that is the same for everybody, encoded by the daemon.
  var replyPieces: [UInt8]?
  /// The parts that few images have; nil for all others.
  var extras: ImageExtras?
  /// The file that it has or last had on disk.
  var file: StoredFile?
  /// The moment until which its age lets it be shown without asking its origin.
  var freshUntil: Instant
  /// The last purge that it was compared with.
  var checked: UInt64
  var lastAccess: Instant
  let storedAt: Instant
  let freshness: Freshness
  /// Its place in its tier; negative outside.
  var place: Int32 = -1
  let facts: ImageFacts
  /// Its bytes if they do not lie behind the fields, since they are many or in a memfd.
  var payload: Payload?
  /// The digest of its key; meaningless if the key has a scope.
  let digest: KeyDigest
  /// The checksum of its bytes; `.unknown` for pixels.
  let checksum: BodyChecksum
  let serial: UInt64
  let storedAtWall: Int64
  /// The number of its file in the index, for an image that an earlier process has left; 0 without a file.
  var formerFile: UInt32 = 0

  /// How many bytes lie behind the fields: those of the URL, of the header fields, and of the picture.
  let urlCount: UInt16
  let headerCount: UInt16
  let bodyCount: UInt16

  let status: UInt16
  /// Whether it is unknown when it was stored.
  let isTimeDoubtful: Bool
  /// Whether its bytes are those of a decoded picture.
  let isPixels: Bool
  /// Whether it is a redirect that a public address has sent.
  let isFromPublicAddress: Bool
  var isPurged: Bool
  var isLent = false
  var isStale = false
}

/// The parts that few images have: those of the key other than the URL, tags, a description, the headers that
/// the answer depends on, the target of a redirect.
final class ImageExtras {
  let distinction: KeyDistinction?
  let vary: VaryOutcome
  let tags: [String]
  let redirectTarget: String?
  /// A few bytes that stand for the picture, as the daemon has encoded them; empty if there are none.
  var description: [UInt8]
  /// The end of the daemon's answer with a descriptor, encoded; nil until one was handed out.
  var lentEnding: [UInt8]?

  /// Without any of them.
  init() { (distinction, vary, tags, redirectTarget, description) = (nil, .none, [], nil, []) }

  /// Nil when an image has none of these parts.
  init?(distinction: KeyDistinction?, vary: VaryOutcome, tags: [String], redirectTarget: String?, description: [UInt8])
  {
    guard distinction != nil || vary != .none || !tags.isEmpty || redirectTarget != nil || !description.isEmpty else {
      return nil
    }
    self.distinction = distinction
    self.vary = vary
    self.tags = tags
    self.redirectTarget = redirectTarget
    self.description = description
  }

  /// The bytes that they really hold.
  var cost: Int {
    Self.bookkeeping + (distinction?.identifier?.utf8.count ?? 0) + vary.cost + (redirectTarget?.utf8.count ?? 0)
      + description.count + (lentEnding?.count ?? 0) + tags.reduce(0) { $0 + $1.utf8.count + 16 }
  }

  /// A flat charge for the object and for those that it refers to.
  private static let bookkeeping = 64
}
