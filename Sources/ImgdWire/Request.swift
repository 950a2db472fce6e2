/// What a client can ask for.
package enum Request: Sendable {
  case fetch(FetchRequest)
  case cancel(CancelTarget)
  case wait(WaitRequest)
  case list
  case slots
  case purge(PurgeRequest)
  case stats
  case query(QueryRequest)
  case entries(EntriesRequest)
  case subscribe(Set<Topic>)
  case hello
  case ping
  case config
  case reload
}

/// How the cache is used, in the words of the web's `fetch`.
package enum CacheMode: String, Sendable, CaseIterable {
  case `default`
  case reload
  case noCache = "no-cache"
  case forceCache = "force-cache"
  case onlyIfCached = "only-if-cached"
  case noStore = "no-store"
}

/// In which form the picture is handed over.
package enum Delivery: String, Sendable, CaseIterable {
  case path
  case inline
  case fd
  case pixels
  case none
}

/// Which tiers may keep the picture.
package enum StorePolicy: String, Sendable, CaseIterable {
  case all
  case memory
  case disk
  case none
}

package enum Priority: UInt8, Sendable, CaseIterable, Comparable {
  case low
  case normal
  case high

  package var wireName: String {
    switch self {
    case .low: "low"
    case .normal: "normal"
    case .high: "high"
    }
  }

  package static func < (left: Priority, right: Priority) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The encoding of a derived variant.
package enum OutputFormat: String, Sendable, CaseIterable {
  case original
  case jpeg
  case png
  case webp
}

/// A header that a client sends along to the origin.
package struct RequestHeader: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

package struct ResizeRequest: Equatable, Sendable {
  package enum Fit: String, Sendable, CaseIterable {
    case contain
    case cover
    case fill
  }

  package var width: Int?
  package var height: Int?
  package var fit = Fit.contain
  package var enlarge = false
}

/// A picture that is wanted, and how.
package struct FetchRequest: Sendable {
  package var url: String
  package var identifier: String?
  package var cache = CacheMode.default
  package var delivery = Delivery.path
  package var store = StorePolicy.all
  package var format = OutputFormat.original
  package var priority = Priority.normal
  package var progress = false
  package var events = false
  package var wait = true
  package var detach = false
  package var http = false
  /// What most requests do not carry, in one place, so that the others stay small.
  var extras: FetchExtras?

  package init(url: String) {
    self.url = url
  }

  package var receipt: ReceiptID? { extras?.receipt }
  package var slot: String? { extras?.slot }
  package var headers: [RequestHeader] { extras?.headers ?? [] }
  package var resize: ResizeRequest? { extras?.resize }
  package var timeout: Duration? { extras?.timeout }
  package var maxBytes: Int? { extras?.maxBytes }
  package var tags: [String] { extras?.tags ?? [] }
  /// Freshness in seconds to use instead of the server's.
  package var ttl: Int? { extras?.ttl }

  /// Whether a hit can be answered without looking at anything but URL and identifier.
  package var isPlain: Bool {
    extras == nil && wait && !detach && !events && format == .original && delivery != .pixels
      && (cache == .default || cache == .forceCache || cache == .onlyIfCached)
  }
}

/// The rarely used fields of a fetch; written while the line is read, and never after.
final class FetchExtras: Sendable {
  let receipt: ReceiptID?
  let slot: String?
  let headers: [RequestHeader]
  let resize: ResizeRequest?
  let timeout: Duration?
  let maxBytes: Int?
  let tags: [String]
  let ttl: Int?

  init?(_ fields: FetchExtrasFields) {
    guard fields != FetchExtrasFields() else { return nil }
    receipt = fields.receipt
    slot = fields.slot
    headers = fields.headers
    resize = fields.resize
    timeout = fields.timeout
    maxBytes = fields.maxBytes
    tags = fields.tags
    ttl = fields.ttl
  }
}

struct FetchExtrasFields: Equatable {
  var receipt: ReceiptID?
  var slot: String?
  var headers: [RequestHeader] = []
  var resize: ResizeRequest?
  var timeout: Duration?
  var maxBytes: Int?
  var tags: [String] = []
  var ttl: Int?
}

package enum CancelTarget: Equatable, Sendable {
  case receipt(ReceiptID)
  case slot(String)
  case tag(String)
  case all
}

package struct WaitRequest: Equatable, Sendable {
  package var receipt: ReceiptID
  /// Instead of the form that the fetch asked for.
  package var delivery: Delivery?
}

package struct PurgeRequest: Equatable, Sendable {
  package enum Tier: String, Sendable, CaseIterable {
    case all
    case memory
    case disk
  }

  package var tier = Tier.all
  package var url: String?
  package var identifier: String?
  package var prefix: String?
  package var host: String?
  package var tag: String?
  /// Seconds since it was stored.
  package var olderThan: Int?
  /// Seconds since it was last asked for.
  package var unusedFor: Int?
  package var expired = false
  package var soft = false

  package init() {}
}

package struct QueryRequest: Equatable, Sendable {
  package var url: String
  package var identifier: String?
}

package struct EntriesRequest: Equatable, Sendable {
  package enum Tier: String, Sendable, CaseIterable {
    case memory
    case disk
  }

  package var tier = Tier.memory
  package var limit = 100
  package var cursor: String?
  package var prefix: String?

  package init() {}
}

/// Of what a subscriber is told.
package enum Topic: String, Sendable, CaseIterable {
  case jobs
  case cache
  case pressure
  case config
}
