/// What is known of an entry without its names: of fixed size, for the index in memory.
///
/// Times are seconds since 1970.
package struct IndexRecord: Sendable, Equatable {
  /// What names the file besides the digest; given by the index, never twice.
  package var number: UInt32
  package var digestHigh: UInt64
  package var digestLow: UInt64
  package var bytes: Int
  /// What the file takes of the disk.
  package var allocated: Int
  package var storedAt: Int64
  package var lastAccess: Int64
  /// Zero: it has to be confirmed before it is used.
  package var freshUntil: Int64
  package var format: UInt8
  package var orientation: UInt8
  package var width: Int32
  package var height: Int32
  package var frames: Int32
  package var flags: UInt8

  package init(
    number: UInt32 = 0, digestHigh: UInt64, digestLow: UInt64, bytes: Int, allocated: Int,
    storedAt: Int64, lastAccess: Int64, freshUntil: Int64, format: UInt8, orientation: UInt8,
    width: Int32, height: Int32, frames: Int32, flags: UInt8
  ) {
    self.number = number
    self.digestHigh = digestHigh
    self.digestLow = digestLow
    self.bytes = bytes
    self.allocated = allocated
    self.storedAt = storedAt
    self.lastAccess = lastAccess
    self.freshUntil = freshUntil
    self.format = format
    self.orientation = orientation
    self.width = width
    self.height = height
    self.frames = frames
    self.flags = flags
  }
}

/// All that is known of an entry.
package struct IndexRow: Sendable, Equatable {
  package var record: IndexRecord
  /// The canonical one.
  package var url: String
  /// In lower case, as it stands in the URL; an address of IPv6 in brackets.
  package var host: String
  package var identifier: String?
  package var checksumHigh: UInt64 = 0
  package var checksumLow: UInt64 = 0
  package var status = 200
  /// Names and values as the caller packs them.
  package var headers: [UInt8] = []
  /// Where redirects led to; nil without any.
  package var finalURL: String?
  package var initialAgeMs: Int64 = 0
  package var lifetimeMs: Int64 = 0
  package var whileRevalidateMs: Int64 = 0
  /// Nil where the origin does not say.
  package var ifErrorMs: Int64?
  package var freshnessFlags: UInt8 = 0
  /// The headers that the answer depends on, as the caller packs them.
  package var varying: [UInt8] = []
  /// What the file's name ends with.
  package var suffix = ""
  /// Read back in the order of their bytes, each once.
  package var tags: [String] = []

  package init(record: IndexRecord, url: String, host: String, identifier: String? = nil) {
    self.record = record
    self.url = url
    self.host = host
    self.identifier = identifier
  }
}

/// A file that no entry needs any more and that still has to be removed.
package struct DoomedFile: Sendable, Equatable {
  package let number: UInt32
  package let digestHigh: UInt64
  package let digestLow: UInt64
  package let suffix: String
  /// Seconds since 1970: a path to it has been lent until then.
  package let keepUntil: Int64
}

/// An entry that a filter has found.
package struct IndexMatch: Sendable, Equatable {
  package let number: UInt32
  package let digestHigh: UInt64
  package let digestLow: UInt64
  package let allocated: Int
}
