/// Why an image is not kept.
package enum StoreRefusal: Sendable, Equatable {
  /// Its origin forbids it, or its status does.
  case noStore
  /// It is larger than an entry may be, or than what is left after a purge.
  case tooLarge
  /// It has no size: whatever it is, it cannot be shown.
  case notAPicture
  /// The stored image was made by a later transfer.
  case olderThanStored
  /// It depends on what the key does not hold.
  case varies
  /// A purge matched it while it was on its way.
  case purged
  /// It holds one of the last descriptors, which are there for clients.
  case noDescriptor
}

/// The outcome of giving a tier an image.
package enum StoreAnswer: Sendable, Equatable {
  /// Kept, and what had to go for it.
  case stored(evicted: Removal)
  case refused(StoreRefusal)

  package var isStored: Bool {
    if case .stored = self { true } else { false }
  }
}

/// How many entries went, or were marked, and the bytes they held.
package struct Removal: Sendable, Equatable {
  package static let none = Removal()

  package private(set) var entries = 0
  package private(set) var bytes = 0

  package init() {}

  init(entries: Int, bytes: Int) {
    self.entries = entries
    self.bytes = bytes
  }

  /// Both together.
  package static func + (left: Removal, right: Removal) -> Removal {
    Removal(entries: left.entries + right.entries, bytes: left.bytes + right.bytes)
  }

  mutating func count(_ bytes: Int) {
    entries += 1
    self.bytes += bytes
  }
}
