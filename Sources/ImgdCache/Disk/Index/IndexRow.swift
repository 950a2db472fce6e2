/// One entry as its rows in the index file.
package struct IndexRow: Sendable, Equatable {
  /// Names the file together with the digest; given by the index, never twice.
  package var number: UInt32 = 0
  package var record: StoredRecord
  /// In lower case, as it stands in the URL; an address of IPv6 in brackets.
  package var host: String
  /// The end of the file's name.
  package var suffix: String
  /// The bytes that the file takes of the disk.
  package var allocated = 0
  /// In seconds since 1970.
  package var lastAccess: Int64

  package init(record: StoredRecord, host: String, suffix: String, lastAccess: Int64) {
    self.record = record
    self.host = host
    self.suffix = suffix
    self.lastAccess = lastAccess
  }

  var file: PictureFile? {
    PictureFile(digest: record.digest, number: number, suffix: suffix)
  }

  /// With numbers in range, and the host and the tags as they are read back.
  var sane: IndexRow {
    var sane = self
    sane.record = record.sane
    sane.host = HostOrder(host).host
    return sane
  }

  /// Over the columns beside the entry, and over what ties them to it.
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
