// What the memory tier says of what it was given, and of what went.

/// Why an image is not kept.
package enum StoreRefusal: Sendable, Equatable {
  /// Its origin forbids it, or its status does.
  case noStore
  /// It is larger than an entry may be, or than the preferred usage of the tier.
  case tooLarge
  /// It has no width or no height, so it cannot be shown.
  case notAPicture
  /// The stored image was made by a later transfer.
  case olderThanStored
  /// It depends on more than its key holds (`Vary: *`).
  case varies
  /// A purge matched it while it was on its way.
  case purged
  /// It holds one of the last descriptors, which are reserved for clients.
  case noDescriptor
}

/// What a tier did with an image that it was given.
package enum StoreAnswer: Sendable, Equatable {
  /// The image is kept; `evicted` counts what had to go for it.
  case stored(evicted: Removal)
  case refused(StoreRefusal)

  package var isStored: Bool { if case .stored = self { true } else { false } }
}

/// The number of entries that went, or were marked, and the bytes that they held.
package struct Removal: Sendable, Equatable {
  package static let none = Removal()

  package private(set) var entries = 0
  package private(set) var bytes = 0

  package init() {}

  init(entries: Int, bytes: Int) {
    self.entries = entries
    self.bytes = bytes
  }

  /// The sum of both.
  package static func + (left: Removal, right: Removal) -> Removal {
    Removal(entries: left.entries + right.entries, bytes: left.bytes + right.bytes)
  }

  /// Counts one entry with its bytes.
  package mutating func count(_ bytes: Int) {
    entries += 1
    self.bytes += bytes
  }
}
