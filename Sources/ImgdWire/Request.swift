internal import ImgdText

/// A request of a client, one case for each command.
package enum Request: Equatable, Sendable {
  case fetch(FetchRequest)
  case put(PutRequest)
  case cancel(CancelTarget)
  case wait(WaitRequest)
  case list(PageRequest)
  case slots(PageRequest)
  indirect case purge(PurgeRequest)
  case stats
  case origins(PageRequest)
  case clients(PageRequest)
  case failures(PageRequest)
  case fleet(PageRequest)
  case query(QueryRequest)
  indirect case entries(EntriesRequest)
  case subscribe(Topics)
  case hello
  case ping
  case config
  case reload

  /// The commands, by their names on the wire.
  package enum Command: String, CaseIterable, Sendable {
    case fetch, put, cancel, wait, list, slots, purge, stats, origins, clients, failures, fleet, query, entries
    case subscribe, hello, ping, config, reload
  }

  /// The command of this request.
  package var command: Command {
    switch self {
    case .fetch: .fetch
    case .put: .put
    case .cancel: .cancel
    case .wait: .wait
    case .list: .list
    case .slots: .slots
    case .purge: .purge
    case .stats: .stats
    case .origins: .origins
    case .clients: .clients
    case .failures: .failures
    case .fleet: .fleet
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

/// Keeps a picture that the client has under a URL.
package struct PutRequest: Equatable, Sendable {
  package var url: String
  package var tags: [String] = []
  /// Seconds of freshness; nil for what is usual where an origin says nothing.
  package var ttl: Int?
  /// The picture's bytes in base64; nil where a descriptor comes with the line.
  package var data: String?
  /// Whether all users are shown it, whatever is usual.
  package var isForAll = false

  package init(url: String) { self.url = url }
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
  package var url: String?
  package var prefix: String?
  /// A text that URLs have anywhere.
  package var part: String?

  package init(
    tier: Tier = .memory, url: String? = nil, prefix: String? = nil, part: String? = nil,
    page: PageRequest = PageRequest(limit: 100)
  ) {
    self.tier = tier
    self.page = page
    self.url = url
    self.prefix = prefix
    self.part = part
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

// A purge that removes nothing because its filter can match nothing looks like one that found nothing. So a host with
// a port or a wildcard, and a prefix with which no URL begins, are refused, by the daemon and by imgctl with the same
// words. So is an empty identifier alone: it would remove too much, and an unset variable in a script looks like it.

extension PurgeRequest {
  /// Why no entry can be of this host: what is wrong with it, and what would be right; nil where one can.
  package static func problem(ofHost host: String) -> String? {
    let bytes = Array(host.utf8)
    let shown = Excerpt.of(host)
    if let slash = bytes.firstIndex(of: UInt8(ascii: "/")) {
      let isURL = slash > 0 && bytes[slash - 1] == UInt8(ascii: ":")
      return "\(shown) is \(isURL ? "a URL" : "no host"): write its host alone, such as example.org"
    }
    if bytes.starts(with: "*.".utf8), bytes.count > 2 {
      let domain = String(decoding: bytes[2...], as: UTF8.self)
      return "\(shown) has a *, and no host has one: write \(Excerpt.of(domain)), "
        + "which stands for the hosts below it as well"
    }
    if bytes.contains(UInt8(ascii: "*")) {
      return "\(shown) has a *, and no host has one: leave the filter out for all hosts"
    }
    if bytes.first == UInt8(ascii: "."), bytes.count > 1 {
      let domain = String(decoding: bytes.drop { $0 == UInt8(ascii: ".") }, as: UTF8.self)
      return "\(shown) begins with a dot, and no host does: write \(Excerpt.of(domain)), "
        + "which stands for the hosts below it as well"
    }
    if let problem = problem(ofPortIn: bytes, shown) { return problem }
    guard bytes.allSatisfy({ isHostByte(lowerCase($0)) || isBracketByte($0) }) else {
      return "\(shown) has characters that no host has: write it as it stands in a URL"
    }
    return nil
  }

  /// An IPv6 address has brackets in a URL, and colons within them.
  private static func problem(ofPortIn host: [UInt8], _ shown: String) -> String? {
    let colons = host.indices.filter { host[$0] == UInt8(ascii: ":") }
    guard let last = colons.last else { return nil }
    if host.first == UInt8(ascii: "[") {
      guard let end = host.lastIndex(of: UInt8(ascii: "]")), end < last else { return nil }
    } else if colons.count > 1 {
      return "\(shown) is an address without brackets: write [\(shown)]"
    }
    let name = String(decoding: host[..<last], as: UTF8.self)
    return "\(shown) has a port, and a host has none: write \(Excerpt.of(name))"
  }

  /// Why no entry's URL can begin with this; nil if one can.
  package static func problem(ofPrefix prefix: String) -> String? {
    let bytes = Array(prefix.utf8)
    let shown = Excerpt.of(prefix)
    let schemes = ["http://", "https://", "\(ObjectURL.scheme)://"]
    if schemes.contains(where: { $0.utf8.starts(with: bytes) }) { return nil }
    guard let scheme = schemes.first(where: { bytes.starts(with: $0.utf8) }) else {
      return "\(shown) is the beginning of no URL here: those begin with http://, https:// or s3://, in lower case"
    }
    guard scheme != schemes.last else { return problem(ofObject: prefix, after: scheme, shown) }
    let rest = bytes[scheme.utf8.count...]
    let host = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    if host.contains(UInt8(ascii: "*")) {
      return "\(shown) has a * in its host, and no host has one: "
        + "a prefix is compared as it is written, without wildcards"
    }
    if host.contains(UInt8(ascii: "@")) {
      return "\(shown) has a user name in it, and no URL here has one: leave it out"
    }
    guard host.allSatisfy({ isHostByte($0) || isBracketByte($0) }) else {
      return "\(shown) has characters that no host has: write the host in lower case, " + "as a URL has it"
    }
    let isWhole = host.endIndex < rest.endIndex
    let usual = scheme == "http://" ? ":80" : ":443"
    if isWhole, host.count > usual.utf8.count, host.suffix(usual.utf8.count).elementsEqual(usual.utf8) {
      return "\(shown) has the port that \(scheme) has by itself: URLs here leave it out"
    }
    return problem(ofPath: rest[host.endIndex...], shown)
  }

  /// Why no object's URL in its one spelling begins with this; nil if one can.
  private static func problem(ofObject prefix: String, after scheme: String, _ shown: String) -> String? {
    let rest = prefix.utf8.dropFirst(scheme.utf8.count)
    guard rest.contains(UInt8(ascii: "/")) else {
      let isBucket = rest.allSatisfy { lowerCase($0) == $0 && isHostByte($0) && $0 != UInt8(ascii: "_") }
      return isBucket ? nil : "\(shown) has characters that no bucket has: write it in lower case, as a URL has it"
    }
    // The last escape may be incomplete.
    let end = rest.suffix(2)
    let cut = end.last == UInt8(ascii: "%") ? 1 : end.first == UInt8(ascii: "%") ? 2 : 0
    let whole = String(Substring(prefix.utf8.dropLast(cut))) + "x"
    do throws(ObjectURLProblem) {
      if try ObjectURL(whole).text == whole { return nil }
    } catch { return "\(shown) begins no URL here: \(error.reason)" }
    return "\(shown) has characters that URLs of buckets have as %20 and the like: write it as entries shows it"
  }

  /// Why no URL in its canonical form has this path after its host; nil if one can.
  private static func problem(ofPath path: ArraySlice<UInt8>, _ shown: String) -> String? {
    if path.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
      return "\(shown) has characters that URLs here have as %20 and the like: " + "write it as entries shows it"
    }
    if path.contains(UInt8(ascii: "#")) {
      return "\(shown) has a fragment, and URLs here have none: leave out what begins with the #"
    }
    let names = path.prefix { $0 != UInt8(ascii: "?") }.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // The last name may be incomplete.
    if names.dropLast().contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) {
      return "\(shown) has /./ or /../ in it, and URLs here have neither: write the path that it leads to"
    }
    return nil
  }

  /// Why an empty identifier must not be the only filter.
  package static let problemOfEmptyIdentifier =
    "is empty, and would remove every entry without one: name one, or add a URL"
}

private func isHostByte(_ byte: UInt8) -> Bool {
  byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || "-._".utf8.contains(byte)
}

/// Whether a byte belongs to a port or to an IPv6 address.
private func isBracketByte(_ byte: UInt8) -> Bool { "[]:".utf8.contains(byte) }

private func lowerCase(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
