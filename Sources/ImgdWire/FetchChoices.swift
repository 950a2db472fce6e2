/// How a fetch uses the caches, named as in the Fetch standard of the web.
package enum CacheMode: String, CaseIterable, Sendable {
  /// A fresh entry answers, a stale one is revalidated.
  case default_ = "default"
  /// The origin answers, even when an entry is cached.
  case reload
  /// An entry is revalidated even when it is fresh.
  case noCache = "no-cache"
  /// Any entry answers, however stale.
  case forceCache = "force-cache"
  /// Any entry answers; without one nothing is downloaded.
  case onlyIfCached = "only-if-cached"
  /// Any entry of this machine answers, and the caches are left as they are: this counts neither as a look-up nor as a
  /// use.
  case peek
  /// The caches are neither read nor filled.
  case noStore = "no-store"

  /// Whether the caches may keep what the fetch brings.
  package var keeps: Bool { self != .noStore && self != .peek }
}

/// How the picture reaches the client.
package enum Delivery: String, CaseIterable, Sendable {
  /// As the path of the file in the disk tier.
  case path
  /// As base64 within the reply line.
  case inline
  /// As a descriptor of the encoded bytes.
  case fd
  /// As a descriptor of the decoded picture.
  case pixels
  /// Not at all: only its metadata.
  case none
}

/// The tiers that may keep the fetched picture.
package enum StorePolicy: String, CaseIterable, Sendable {
  case all, memory, disk, fleet
  /// Memory and disk of this machine alone.
  case local
  case none

  /// The memory tier may keep it.
  package var allowsMemory: Bool { self == .all || self == .memory || self == .local }
  /// The disk tier may keep it.
  package var allowsDisk: Bool { self == .all || self == .disk || self == .local }
  /// The server that other machines also use may keep it.
  package var allowsFleet: Bool { self == .all || self == .fleet }
}

/// The queue that a download waits in.
package enum Priority: String, CaseIterable, Comparable, Sendable {
  case low, normal, high

  private var rank: Int {
    switch self {
    case .low: 0
    case .normal: 1
    case .high: 2
    }
  }

  /// A priority that is served later is smaller.
  package static func < (left: Priority, right: Priority) -> Bool { left.rank < right.rank }
}
