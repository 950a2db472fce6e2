/// A request of a client, one case for each command.
package enum Request: Equatable, Sendable {
  case fetch(FetchRequest)
  case cancel(CancelTarget)
  case wait(WaitRequest)
  case list(PageRequest)
  case slots(PageRequest)
  indirect case purge(PurgeRequest)
  case stats
  case query(QueryRequest)
  indirect case entries(EntriesRequest)
  case subscribe(Topics)
  case hello
  case ping
  case config
  case reload

  /// The commands, by their names on the wire.
  package enum Command: String, CaseIterable, Sendable {
    case fetch, cancel, wait, list, slots, purge, stats, query, entries, subscribe
    case hello, ping, config, reload
  }

  /// The command of this request.
  package var command: Command {
    switch self {
    case .fetch: .fetch
    case .cancel: .cancel
    case .wait: .wait
    case .list: .list
    case .slots: .slots
    case .purge: .purge
    case .stats: .stats
    case .query: .query
    case .entries: .entries
    case .subscribe: .subscribe
    case .hello: .hello
    case .ping: .ping
    case .config: .config
    case .reload: .reload
    }
  }
}

/// The `id` by which a client finds its answers, echoed as it came.
package enum RequestID: Hashable, Sendable {
  case none
  case integer(Int64)
  /// At most 64 bytes.
  case string(String)
}

/// The fetches that a `cancel` refers to.
package enum CancelTarget: Equatable, Sendable {
  case receipt(ReceiptID)
  case slot(String)
  case tag(String)
  case all
}

/// Asks for the result of a fetch that was started without waiting.
package struct WaitRequest: Equatable, Sendable {
  package var receipt: ReceiptID
  /// The delivery; nil for the one that the fetch itself asked for.
  package var delivery: Delivery?

  package init(receipt: ReceiptID, delivery: Delivery? = nil) {
    self.receipt = receipt
    self.delivery = delivery
  }
}

/// One of the two caches.
package enum Tier: String, CaseIterable, Sendable { case memory, disk }

/// The entries to remove: those that match every given filter, or all when there is none.
package struct PurgeRequest: Equatable, Sendable {
  /// The tiers that a purge empties.
  package enum Scope: String, CaseIterable, Sendable { case all, memory, disk }

  package var tier = Scope.all
  package var url: String?
  package var identifier: String?
  package var prefix: String?
  package var host: String?
  package var tag: String?
  /// Seconds since the entry was stored.
  package var olderThan: Int?
  /// Seconds since the entry was last used.
  package var unusedFor: Int?
  /// Only entries that are no longer fresh.
  package var expired = false
  /// Marks the entries stale instead of removing them.
  package var soft = false

  package init(url: String? = nil) { self.url = url }
}

/// One page of a list.
package struct PageRequest: Equatable, Sendable {
  package var limit: Int
  /// The `cursor` of the page before.
  package var cursor: String?

  package init(limit: Int = 1_000, cursor: String? = nil) {
    self.limit = limit
    self.cursor = cursor
  }
}

/// One page of the entries of a tier.
package struct EntriesRequest: Equatable, Sendable {
  package var tier: Tier
  package var page: PageRequest
  package var prefix: String?

  package init(tier: Tier = .memory, prefix: String? = nil, page: PageRequest = PageRequest(limit: 100)) {
    self.tier = tier
    self.page = page
    self.prefix = prefix
  }
}

/// The kinds of events that a client subscribes to.
package struct Topics: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let jobs = Topics(rawValue: 1)
  package static let cache = Topics(rawValue: 2)
  package static let pressure = Topics(rawValue: 4)
  package static let config = Topics(rawValue: 8)
  package static let all: Topics = [.jobs, .cache, .pressure, .config]

  /// Every topic by its name on the wire.
  static let named: KeyValuePairs<String, Topics> = [
    "jobs": .jobs, "cache": .cache, "pressure": .pressure, "config": .config,
  ]

  package init?(name: String) {
    guard let topic = Self.named.first(where: { $0.key == name })?.value else { return nil }
    self = topic
  }

  /// The names of these topics on the wire, always in the same order.
  package var names: [String] { Self.named.filter { contains($0.value) }.map { $0.key } }
}

/// Asks whether the cache has a picture.
package struct QueryRequest: Equatable, Sendable {
  package let url: String
  package let identifier: String?
  /// Whether the reply includes a placeholder.
  package let describe: Bool

  package init(url: String, identifier: String? = nil, describe: Bool = false) {
    self.url = url
    self.identifier = identifier
    self.describe = describe
  }
}
