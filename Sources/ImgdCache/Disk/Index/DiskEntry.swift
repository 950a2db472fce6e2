/// The part of an entry on disk that the control loop has: enough to find it and to judge whether
/// it can be used. The rest is in the index file.
///
/// A million of these are kept, so each has a fixed size and holds no reference. Times are seconds since 1970.
package struct DiskEntry: Sendable, Equatable {
  package let digest: KeyDigest
  /// The number of the entry; numbers are never used twice.
  package internal(set) var number: UInt32
  package let bytes: UInt32
  /// The room that the file takes on disk, in blocks of 512 bytes.
  private let blocks: UInt32
  package let facts: ImageFacts
  /// When the origin last changed it; zero if the origin does not say.
  var modified: UInt32
  package let checksum: BodyChecksum
  package var storedAt: UInt32
  package var lastAccess: UInt32
  /// Zero when the origin has to be asked before every use.
  package var freshUntil: UInt32
  /// Whether everything that a plain answer says of the picture is known here (`RecordFlags.plain`).
  var isPlain: Bool
  /// A number that all entries share whose answers are to one name and depend on the request; zero for one that is
  /// found under its own key alone.
  var base: UInt32

  // Known to this process alone.

  var leaseEnd: UInt32 = 0
  /// The count of `VerifiedFiles` under which its file was last found sound.
  var verifiedIn: UInt32 = 0
  /// The stamp of its file (`FileStatus`) when its bytes were known to be those that were stored; zero if they have
  /// to be compared.
  var stamp: UInt64 = 0
  /// The period in which a use was last noted for the index file (`UseLog`).
  private var usedIn: UInt16 = 0

  package var allocated: Int { Int(blocks) * 512 }

  init(
    number: UInt32, digest: KeyDigest, bytes: UInt32, allocated: Int, facts: ImageFacts, modified: UInt32,
    checksum: BodyChecksum, storedAt: UInt32, lastAccess: UInt32, freshUntil: UInt32, isPlain: Bool, base: UInt32
  ) {
    self.number = number
    self.digest = digest
    self.bytes = bytes
    blocks = UInt32(clamping: allocated / 512)
    self.facts = facts
    self.modified = modified
    self.checksum = checksum
    self.storedAt = storedAt
    self.lastAccess = lastAccess
    self.freshUntil = freshUntil
    self.isPlain = isPlain
    self.base = base
  }

  init(_ row: IndexRow) {
    let record = row.record
    self.init(
      number: row.number, digest: record.digest, bytes: UInt32(clamping: record.bytes), allocated: row.allocated,
      facts: record.facts, modified: record.modified, checksum: record.checksum,
      storedAt: UInt32(clamping: record.storedAt), lastAccess: UInt32(clamping: row.lastAccess),
      freshUntil: UInt32(clamping: record.freshUntil), isPlain: record.flags.contains(.plain), base: record.baseTag)
  }

  /// Notes that a use has to be written to the index file; false if one was noted in the same period already.
  mutating func noteUse(in period: UInt16) -> Bool {
    defer { usedIn = period }
    return usedIn != period
  }

  func isLeased(at wall: Int64) -> Bool { Int64(leaseEnd) > wall }

  /// The seal over everything that is written of it except the number, which is unknown when the row is written,
  /// and the last use, which changes all the time and only decides an order.
  var seal: UInt64 {
    var seal = RowSeal()
    seal.add(digest.high)
    seal.add(digest.low)
    for number in [bytes, blocks, storedAt, freshUntil] { seal.add(number) }
    seal.add(UInt16(facts.format) << 8 | UInt16(facts.orientation))
    for size in [facts.width, facts.height, facts.frames] { seal.add(size) }
    seal.add(modified)
    seal.add(checksum.value)
    seal.add(UInt8(isPlain ? 1 : 0))
    seal.add(base)
    return seal.finish()
  }
}
