/// The part of an entry on disk that the control loop has: enough to find it and to judge whether
/// it can be used. The rest is in the index file.
///
/// A million of these are kept, so each has a fixed size and holds no reference. Times are seconds since 1970.
package struct DiskEntry: Sendable, Equatable {
  package let digest: KeyDigest
  /// The number of the entry; numbers are never used twice.
  package internal(set) var number: UInt32
  package let bytes: UInt32
  /// The room that the file takes on disk, or what is charged without one, in blocks of 512 bytes.
  private var blocks: UInt32
  package let facts: ImageFacts
  /// When the origin last changed it; zero if the origin does not say.
  var modified: UInt32
  package let checksum: BodyChecksum
  package var storedAt: UInt32
  package var lastAccess: UInt32
  /// Zero when the origin has to be asked before every use.
  package var freshUntil: UInt32
  /// Whether there is a file: the bytes of a picture may have gone before its forms.
  package private(set) var hasBody: Bool
  /// All flags but `away`.
  private var traits: EntryFlags
  /// The period in which a use was last noted for the index file (`UseLog`), which only this process knows.
  private var usedIn: UInt16 = 0
  /// A number that all entries share whose answers are to one name and depend on the request, or that are forms of one
  /// picture; zero for one that is found under its own key alone.
  var base: UInt32
  /// The user for whom it counts (`EntryOwner`).
  var owner: UInt32

  // Known to this process alone.

  var leaseEnd: UInt32 = 0
  /// The count of `VerifiedFiles` under which its file was last found sound.
  var verifiedIn: UInt32 = 0
  /// The place of the next form of the same picture; negative after the last.
  var nextForm: Int32 = -1
  /// The place of the form before this one; negative for the first.
  var previousForm: Int32 = -1
  /// The stamp of its file (`FileStatus`) when its bytes were known to be those that were stored; zero if they have
  /// to be compared.
  var stamp: UInt64 = 0

  package var allocated: Int { Int(blocks) * 512 }

  /// What is charged for facts alone: more than their rows in the index file and their entry take.
  static let chargeForFacts = 1_024

  /// Whether everything that a plain answer says of the picture is known here (`RecordFlags.plain`).
  var isPlain: Bool { traits.contains(.plain) }
  /// Whether it is a form of a picture, under the base of that picture (`KeyDigest.formBase`).
  var isForm: Bool { traits.contains(.form) }
  /// Whether it is one user's alone, under a URL and nothing else.
  var isOwn: Bool { traits.contains(.own) }

  var flags: EntryFlags { hasBody ? traits : traits.union(.away) }

  init(
    number: UInt32, digest: KeyDigest, bytes: UInt32, allocated: Int, facts: ImageFacts, modified: UInt32,
    checksum: BodyChecksum, storedAt: UInt32, lastAccess: UInt32, freshUntil: UInt32, flags: EntryFlags, base: UInt32,
    owner: UInt32 = EntryOwner.nobody
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
    traits = flags.subtracting(.away)
    hasBody = !flags.contains(.away)
    self.base = base
    self.owner = owner
  }

  init(_ row: IndexRow) {
    let record = row.record
    self.init(
      number: row.number, digest: record.digest, bytes: UInt32(clamping: record.bytes), allocated: row.allocated,
      facts: record.facts, modified: record.modified, checksum: record.checksum,
      storedAt: UInt32(clamping: record.storedAt), lastAccess: UInt32(clamping: row.lastAccess),
      freshUntil: UInt32(clamping: record.freshUntil), flags: EntryFlags(record, isAway: row.isAway),
      base: record.baseTag, owner: record.owner ?? EntryOwner.nobody)
  }

  /// Takes over what the origin has confirmed.
  mutating func renew(by record: StoredRecord) {
    storedAt = UInt32(clamping: record.storedAt)
    freshUntil = UInt32(clamping: record.freshUntil)
    modified = record.modified
    if record.flags.contains(.plain) { traits.insert(.plain) } else { traits.remove(.plain) }
    owner = record.owner ?? owner
  }

  /// Notes that the bytes go.
  mutating func shed() {
    hasBody = false
    blocks = UInt32(Self.chargeForFacts / 512)
    (verifiedIn, stamp) = (0, 0)
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
    seal.add(flags.rawValue)
    seal.add(base)
    // Entries of layout 9 have none.
    if owner != EntryOwner.nobody { seal.add(owner) }
    return seal.finish()
  }
}

extension DiskEntry {
  /// The flags and, above them, the owner, in one column: a row of layout 9 has zero there.
  var marks: Int64 { Int64(owner &+ 1) << 8 | Int64(flags.rawValue) }

  /// The owner in such a column.
  static func owner(in marks: Int64) -> UInt32 { UInt32(truncatingIfNeeded: marks >> 8) &- 1 }
}

/// The yes-or-no properties of an entry, as the index file has them.
struct EntryFlags: OptionSet, Sendable, Equatable {
  let rawValue: UInt8

  static let plain = EntryFlags(rawValue: 1)
  static let form = EntryFlags(rawValue: 2)
  static let away = EntryFlags(rawValue: 4)
  static let own = EntryFlags(rawValue: 8)
  static let all: EntryFlags = [.plain, .form, .away, .own]

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ record: StoredRecord, isAway: Bool) {
    self = []
    if record.flags.contains(.plain) { insert(.plain) }
    if record.flags.contains(.form) { insert(.form) }
    if record.identifier == nil, record.variant?.isOfUser == true { insert(.own) }
    if isAway { insert(.away) }
  }
}
