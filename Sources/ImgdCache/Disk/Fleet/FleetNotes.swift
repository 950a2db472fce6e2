/// The notes of the index file about the fleet.
package struct FleetNotes: Sendable, Equatable {
  /// The last purge of the log that is in force here; nil if there never was one, or its row is damaged.
  package internal(set) var position: FleetPosition?
  /// Purges of this host that are not known to be in the log, the oldest first.
  package internal(set) var purges: [FleetPurge] = []
  /// How many rows of such purges are damaged, so that it is unknown what these were about.
  package internal(set) var damaged = 0

  package init() {}

  /// An event that the owner of the notes has to know of.
  package enum News: Sendable {
    /// An index has been opened, and has these notes. A new one has none: an owner that has more
    /// stores them again.
    case read(FleetNotes)
    /// No index could be opened.
    case unreadable
    /// The disk works again after it refused to keep something.
    case incomplete
  }
}

/// The encoding of those notes.
enum FleetCodec {
  private static let version: UInt8 = 1

  static func encode(_ position: FleetPosition) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(UInt64(0))
    writer.put(version)
    writer.put(position.generation)
    writer.put(position.number)
    writer.put(position.nonce)
    writer.seal()
    return writer.bytes
  }

  /// Nil when the bytes are not as `encode` makes them.
  static func position(_ bytes: [UInt8]) -> FleetPosition? {
    var reader = ByteReader(bytes[...])
    guard reader.isSealed(), reader.number(UInt8.self) == version else { return nil }
    let position = FleetPosition(generation: reader.number(), number: reader.number(), nonce: reader.number())
    return reader.hasFailed || !reader.isAtEnd ? nil : position
  }

  /// A purge but for its nonce, which is a column of its own.
  static func encode(_ purge: FleetPurge) -> [UInt8] {
    OwedCodec.encode([RemovalOrder(purge.filter, isSoft: purge.isSoft, askedAt: purge.askedAt)])
  }

  /// Nil when the bytes are not as `encode` makes them.
  static func purge(_ bytes: [UInt8], nonce: UInt64) -> FleetPurge? {
    let orders = OwedCodec.decode(bytes)
    guard orders.count == 1 else { return nil }
    return FleetPurge(orders[0].filter, isSoft: orders[0].isSoft, askedAt: orders[0].askedAt, nonce: nonce)
  }
}
