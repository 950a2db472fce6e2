/// What a client can ask, one case a command.
package enum Request: Equatable, Sendable {
  case fetch(FetchRequest)
  case cancel(CancelTarget)
  case wait(WaitRequest)
  case list
  case slots
  indirect case purge(PurgeRequest)
  case stats
  case query(url: String, identifier: String?)
  indirect case entries(EntriesRequest)
  case subscribe(Topics)
  case hello
  case ping
  case config
  case reload

  /// The commands under the names that the wire knows.
  package enum Command: String, CaseIterable, Sendable {
    case fetch, cancel, wait, list, slots, purge, stats, query, entries, subscribe
    case hello, ping, config, reload
  }

  /// The command that asks for this.
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

/// Which fetches a cancel means.
package enum CancelTarget: Equatable, Sendable {
  case receipt(ReceiptID)
  case slot(String)
  case tag(String)
  case all
}

/// Collects the end of a fetch that was not waited for.
package struct WaitRequest: Equatable, Sendable {
  package var receipt: ReceiptID
  /// How to deliver; nil as the fetch itself asked.
  package var delivery: Delivery?

  package init(receipt: ReceiptID, delivery: Delivery? = nil) {
    self.receipt = receipt
    self.delivery = delivery
  }
}

/// One of the two places that keep pictures.
package enum Tier: String, CaseIterable, Sendable {
  case memory, disk
}

/// What a purge removes: the entries that every given filter matches; without filters all.
package struct PurgeRequest: Equatable, Sendable {
  /// The tiers that a purge empties.
  package enum Scope: String, CaseIterable, Sendable {
    case all, memory, disk
  }

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
  /// Only what is no longer fresh.
  package var expired = false
  /// Marks stale instead of removing.
  package var soft = false

  package init() {}
}

/// One page of the entries of a tier.
package struct EntriesRequest: Equatable, Sendable {
  package var tier = Tier.memory
  package var limit = 100
  /// Where the page before ended, as that page told it.
  package var cursor: String?
  package var prefix: String?

  package init() {}
}

/// The kinds of news that a client wants.
package struct Topics: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let jobs = Topics(rawValue: 1)
  package static let cache = Topics(rawValue: 2)
  package static let pressure = Topics(rawValue: 4)
  package static let config = Topics(rawValue: 8)
  package static let all: Topics = [.jobs, .cache, .pressure, .config]

  /// The topics by the names that the wire knows, in their order.
  package var names: [String] {
    [(Topics.jobs, "jobs"), (.cache, "cache"), (.pressure, "pressure"), (.config, "config")]
      .filter { contains($0.0) }.map(\.1)
  }
}
