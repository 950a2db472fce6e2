/// What the control loop knows of a picture on disk: enough to find it and to judge whether it can
/// be used. The rest is in the index file.
///
/// A million of these are kept, so each has a fixed size and holds no reference.
struct DiskEntry {
  let digest: KeyDigest
  /// Which entry it was: numbers are never used twice.
  let number: UInt32
  let bytes: UInt32
  /// What the file takes on disk, in blocks of 512 bytes.
  private(set) var blocks: UInt32
  let facts: ImageFacts
  // Times are seconds since 1970.
  var storedAt: UInt32
  var lastAccess: UInt32
  /// Zero when the origin has to be asked before every use.
  var freshUntil: UInt32
  /// Until when its path has been promised to somebody.
  var leaseEnd: UInt32 = 0
  /// All that a plain answer says of the picture is known here (`EntryFlags`).
  var isPlain: Bool
  /// The bytes are known to be those that were stored.
  var isTrusted: Bool
  /// When its file was last found sound, in the count of `DiskTier.sightings`.
  var seenIn: UInt32 = 0
  /// Its last use is newer than what the index file says.
  var isTouched = false

  var newer = RecencyLink.none
  var older = RecencyLink.none

  var allocated: Int { Int(blocks) * 512 }

  init(_ record: IndexRecord, isTrusted: Bool) {
    digest = KeyDigest(high: record.digestHigh, low: record.digestLow)
    number = record.number
    bytes = UInt32(clamping: record.bytes)
    blocks = UInt32(clamping: record.allocated / 512)
    facts = ImageFacts(
      format: record.format, width: Int(record.width), height: Int(record.height),
      frames: Int(record.frames), orientation: Int(record.orientation))
    storedAt = UInt32(clamping: record.storedAt)
    lastAccess = UInt32(clamping: record.lastAccess)
    freshUntil = UInt32(clamping: record.freshUntil)
    isPlain = EntryFlags(rawValue: record.flags).contains(.plain)
    self.isTrusted = isTrusted
  }

  func isLeased(at wall: Int64) -> Bool { Int64(leaseEnd) > wall }
}

enum RecencyLink {
  static let none: Int32 = -1
}
