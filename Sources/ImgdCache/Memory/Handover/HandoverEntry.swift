internal import ImgdSystem

/// One picture of a memory tier, as the index describes it to the next process.
struct HandoverEntry: Equatable {
  /// Where its bytes are.
  enum Body: Equatable {
    /// In the pack that the index names, from this offset on.
    case packed(UInt32)
    /// In a memfd of its own; since that is sealed, the same memfd has the same bytes.
    case memory(FileStatus.Identity)
  }

  /// A stored record in its encoded form.
  var record: [UInt8]
  /// The number of its file on disk; zero without a file.
  let number: UInt32
  /// In seconds since 1970.
  let lastAccess: Int64
  /// Whether a soft purge has marked it; its record tells that only if the answer ever had a lifetime.
  let isStale: Bool
  let body: Body

  /// Roughly the bytes that it takes in an index.
  var roughCount: Int { 64 + record.count }
}

extension ByteWriter {
  mutating func put(_ entry: HandoverEntry) {
    put(entry.record)
    put(entry.number)
    put(entry.lastAccess)
    put(UInt8(entry.isStale ? 1 : 0))
    switch entry.body {
    case .packed(let start):
      put(UInt8(0))
      put(start)
    case .memory(let identity):
      put(UInt8(1))
      put(identity)
    }
  }

  mutating func put(_ identity: FileStatus.Identity) {
    put(identity.device)
    put(identity.inode)
  }
}

extension ByteReader {
  /// The next entry; nil when the bytes make no sense.
  mutating func entry() -> HandoverEntry? {
    let record = bytes()
    let (file, lastAccess): (UInt32, Int64) = (number(), number())
    let isStale = number() as UInt8 != 0
    let body: HandoverEntry.Body
    switch number(UInt8.self) {
    case 0: body = .packed(number())
    case 1: body = .memory(identity())
    default: return nil
    }
    guard !hasFailed else { return nil }
    return HandoverEntry(record: record, number: file, lastAccess: lastAccess, isStale: isStale, body: body)
  }

  mutating func identity() -> FileStatus.Identity { FileStatus.Identity(device: number(), inode: number()) }
}
