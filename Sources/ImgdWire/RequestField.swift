/// Every field of every command; the most frequent first, because they are searched in order.
enum RequestField: UInt8, CaseIterable, Sendable {
  case cmd, id, url, receipt, deliver, identifier, cache, progress, slot, tags, headers
  case store, resize, format, priority, events, wait, waitOnline, detach, timeoutMilliseconds, maxBytes
  case ttl, http, quality, frames, layout, describe, share, tag, all, tier, prefix, host
  case olderThan, unusedFor, expired, soft, limit, cursor, data, audience, encodedBytes, part

  private static let table = NameTable<RequestField> { $0.name }

  /// The field of that name. The three that every fetch has are found without the table, because each
  /// access to the table checks whether it is initialised.
  @inline(__always) static func named(_ name: ShortName) -> RequestField? {
    if name == ShortName("cmd") { return .cmd }
    if name == ShortName("url") { return .url }
    if name == ShortName("id") { return .id }
    return table[name]
  }

  /// The name on the wire.
  var name: String { Self.names[Int(rawValue)] }

  /// In the order of the cases.
  private static let names = [
    "cmd", "id", "url", "receipt", "deliver", "identifier", "cache", "progress", "slot", "tags", "headers",
    "store", "resize", "format", "priority", "events", "wait", "wait_online", "detach", "timeout_ms", "max_bytes",
    "ttl", "http", "quality", "frames", "layout", "describe", "share", "tag", "all", "tier", "prefix", "host",
    "older_than", "unused_for", "expired", "soft", "limit", "cursor", "data", "for",
    "encoded_bytes", "contains",
  ]

  var unit: String? {
    switch self {
    case .timeoutMilliseconds: "milliseconds"
    case .maxBytes, .encodedBytes: "bytes"
    case .ttl, .olderThan, .unusedFor: "seconds"
    default: nil
    }
  }
}

struct FieldSet: OptionSet, Sendable {
  let rawValue: UInt64

  @inline(__always) init(rawValue: UInt64) { self.rawValue = rawValue }

  @inline(__always) init(_ field: RequestField) { rawValue = 1 << UInt64(field.rawValue) }

  @inline(__always) func contains(_ field: RequestField) -> Bool { rawValue & FieldSet(field).rawValue != 0 }

  init(_ fields: [RequestField]) { rawValue = fields.reduce(0) { $0 | FieldSet($1).rawValue } }

  var fields: [RequestField] { RequestField.allCases.filter(contains) }
}

extension Request.Command {
  /// The fields that the command has besides `cmd` and `id`.
  var fields: FieldSet {
    switch self {
    case .fetch: Self.fetchFields
    case .put: FieldSet([.url, .tags, .ttl, .data, .audience])
    case .cancel: FieldSet([.receipt, .slot, .tag, .all])
    case .wait: FieldSet([.receipt, .deliver])
    case .purge: FieldSet([.tier, .url, .identifier, .prefix, .host, .tag, .olderThan, .unusedFor, .expired, .soft])
    case .query: FieldSet([.url, .identifier, .describe])
    case .entries: FieldSet([.tier, .limit, .cursor, .url, .prefix, .part])
    case .subscribe: FieldSet([.events])
    case .list, .slots, .origins, .clients, .failures, .fleet: FieldSet([.limit, .cursor])
    case .stats, .hello, .ping, .config, .reload: []
    }
  }

  private static let fetchFields = FieldSet([
    .url, .identifier, .cache, .deliver, .store, .priority, .progress, .events, .wait, .waitOnline, .detach, .http,
  ]).union(.fetchExtras)
}

extension FieldSet {
  /// The rare fields of a fetch, any of which costs the box of extras.
  static let fetchExtras = FieldSet([
    .receipt, .slot, .headers, .resize, .format, .quality, .frames, .layout, .timeoutMilliseconds, .maxBytes, .tags,
    .ttl, .describe, .share, .encodedBytes,
  ])
  static var frame: FieldSet {
    @inline(__always) get { FieldSet(rawValue: FieldSet(.cmd).rawValue | FieldSet(.id).rawValue) }
  }
  static var plainFetch: FieldSet {
    @inline(__always) get { FieldSet(rawValue: frame.rawValue | FieldSet(.url).rawValue) }
  }
}

/// A short name as two machine words, so that comparing it is comparing numbers.
struct ShortName: Equatable {
  static let longest = 16

  private let low: UInt64
  private let high: UInt64

  /// nil when it is longer than any known name. The rest is filled with zero bytes, which accepted text cannot hold.
  @inline(__always) init?(_ text: Span<UInt8>) {
    guard text.count <= Self.longest else { return nil }
    var (low, high): (UInt64, UInt64) = (0, 0)
    for index in 0..<min(text.count, 8) { low = low << 8 | UInt64(text[index]) }
    for index in min(text.count, 8)..<text.count { high = high << 8 | UInt64(text[index]) }
    self.low = low
    self.high = high
  }

  /// A literal of at most eight bytes, which the compiler folds into a number.
  @inline(__always) init(_ text: StaticString) {
    var low: UInt64 = 0
    for index in 0..<text.utf8CodeUnitCount {
      // The index is below the static string's own length.
      low = unsafe low << 8 | UInt64(text.utf8Start[index])
    }
    self.low = low
    high = 0
  }
}

/// The values that a field or a key can take, found by their names on the wire.
struct NameTable<Name: CaseIterable & Sendable>: Sendable {
  private let entries: [(name: ShortName, value: Name)]

  init(_ spelling: (Name) -> String) {
    entries = Name.allCases.compactMap { value in ShortName(Array(spelling(value).utf8).span).map { ($0, value) } }
  }

  @inline(__always) subscript(_ name: ShortName) -> Name? {
    for entry in entries where entry.name == name { return entry.value }
    return nil
  }
}

extension NameTable where Name: RawRepresentable<String> { init() { self.init { $0.rawValue } } }

/// Values whose names on the wire are looked up in a table.
protocol WireNamed: CaseIterable, RawRepresentable<String>, Sendable { static var table: NameTable<Self> { get } }

extension WireNamed {
  @inline(__always) static func named(_ token: JSONToken, in line: Span<UInt8>) -> Self? {
    if token.isEscaped { return Self(rawValue: token.string(in: line)) }
    return ShortName(line.extracting(token.range)).flatMap { table[$0] }
  }
}

extension Request.Command: WireNamed { static let table = NameTable<Self>() }
extension CacheMode: WireNamed { static let table = NameTable<Self>() }
extension Delivery: WireNamed { static let table = NameTable<Self>() }
extension StorePolicy: WireNamed { static let table = NameTable<Self>() }
extension Priority: WireNamed { static let table = NameTable<Self>() }
extension FrameChoice: WireNamed { static let table = NameTable<Self>() }
extension Tier: WireNamed { static let table = NameTable<Self>() }
extension PurgeRequest.Scope: WireNamed { static let table = NameTable<Self>() }
