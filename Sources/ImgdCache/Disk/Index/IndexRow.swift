/// One entry with everything that its rows in the index file hold.
package struct IndexRow: Sendable, Equatable {
  /// The number that the index gives the entry, never twice; with the digest it names the file.
  package var number: UInt32 = 0
  package var record: StoredRecord
  /// The URL's host in lower case; an IPv6 address in brackets.
  package var host: String
  /// The extension of the file's name.
  package var suffix: String
  /// The bytes that the file takes on disk.
  package var allocated = 0
  /// In seconds since 1970.
  package var lastAccess: Int64

  package init(record: StoredRecord, host: String, suffix: String, lastAccess: Int64) {
    self.record = record
    self.host = host
    self.suffix = suffix
    self.lastAccess = lastAccess
  }

  var file: PictureFile? { PictureFile(digest: record.digest, number: number, suffix: suffix) }

  /// The row with its numbers in range, and the host and the tags as they would be read back.
  var sane: IndexRow {
    var sane = self
    sane.record = record.sane
    sane.host = HostOrder(host).host
    return sane
  }

  /// The seal over the columns of `picture`, and over what ties them to the entry.
  func seal(_ encoded: [UInt8]) -> UInt64 {
    var seal = RowSeal()
    seal.add(number)
    seal.add(record.digest.high)
    seal.add(record.digest.low)
    for name in [record.url, host, suffix] { seal.add(name) }
    seal.add(record.identifier)
    seal.add(encoded.span)
    return seal.finish()
  }
}

/// An entry that a search has found.
package struct IndexMatch: Sendable, Equatable {
  package let number: UInt32
  package let digest: KeyDigest
  package let allocated: Int
}
