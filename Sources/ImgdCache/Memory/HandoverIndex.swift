internal import ImgdSystem

/// The description of the pictures that one process leaves to the next.
///
/// `magic, version, clean, pack, entries…`, preceded by a checksum of all these: an index in another version of this
/// layout, or that is not whole, is not used.
struct HandoverIndex: Equatable {
  private static let magic: UInt64 = 0x696d_6764_686f_7431
  static let version: UInt16 = 6
  /// Far more bytes than any process leaves; a larger index is not even read.
  static let most = 32 << 20

  /// Whether the process that wrote it stopped in good order, and did nothing afterwards.
  var isClean: Bool
  /// The memfd that holds many of the pictures.
  var pack: FileStatus.Identity?
  /// The pictures, the most recently used first.
  var entries: [HandoverEntry]

  func encoded() -> [UInt8] {
    var writer = ByteWriter(capacity: entries.reduce(1_024) { $0 + $1.roughCount })
    writer.put(UInt64(0))
    writer.put(Self.magic)
    writer.put(Self.version)
    writer.put(UInt8(isClean ? 1 : 0))
    writer.put(UInt8(pack == nil ? 0 : 1))
    if let pack { writer.put(pack) }
    writer.put(UInt32(clamping: entries.count))
    for entry in entries { writer.put(entry) }
    writer.seal()
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) throws(HandoverProblem) -> HandoverIndex {
    var reader = ByteReader(bytes[...])
    guard reader.isSealed() else { throw .notWhole }
    guard reader.number() == magic, reader.number() == version else { throw .otherLayout }
    let isClean = reader.number(UInt8.self) == 1
    let pack = reader.number(UInt8.self) == 0 ? nil : reader.identity()
    var left: UInt32 = reader.number()
    var entries: [HandoverEntry] = []
    while left > 0, let entry = reader.entry() {
      entries.append(entry)
      left -= 1
    }
    guard left == 0, reader.isAtEnd, !reader.hasFailed else { throw .notWhole }
    return HandoverIndex(isClean: isClean, pack: pack, entries: entries)
  }
}

/// One picture of a memory tier, as the index describes it to the next process.
struct HandoverEntry: Equatable {
  enum Body: Equatable {
    /// In the pack that the index names, from this offset on.
    case packed(UInt32)
    /// In a memfd of its own; since that is sealed, the same memfd has the same bytes.
    case memory(FileStatus.Identity)
    /// Nowhere: what is known of the picture is left, for its forms.
    case away
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
    case .away: put(UInt8(2))
    }
  }

  mutating func put(_ identity: FileStatus.Identity) {
    put(identity.device)
    put(identity.inode)
  }
}

extension ByteReader {
  mutating func entry() -> HandoverEntry? {
    let record = bytes()
    let (file, lastAccess): (UInt32, Int64) = (number(), number())
    let isStale = number() as UInt8 != 0
    let body: HandoverEntry.Body
    switch number(UInt8.self) {
    case 0: body = .packed(number())
    case 1: body = .memory(identity())
    case 2: body = .away
    default: return nil
    }
    guard !hasFailed else { return nil }
    return HandoverEntry(record: record, number: file, lastAccess: lastAccess, isStale: isStale, body: body)
  }

  mutating func identity() -> FileStatus.Identity { FileStatus.Identity(device: number(), inode: number()) }
}
