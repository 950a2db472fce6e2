// A fetch as it was requested, how it is read from a line, and how it is written as one: a new field of `fetch` gets
// its name in `RequestField`; everything else about it in the language goes here.

/// One fetch as it was requested. Nearly all fetches have a URL and little else, so the rare fields are in one box:
/// the usual request costs one allocation, its URL.
package struct FetchRequest: Equatable, Sendable {
  package var url: String
  /// The additional identifier of the cache key.
  package var identifier: String?
  package var cache = CacheMode.default_
  package var delivery = Delivery.path
  package var store = StorePolicy.all
  package var priority = Priority.normal
  /// Whether the client wants progress events.
  package var progress = false
  /// Whether the client wants the events `queued` and `started`.
  package var events = false
  /// Whether the `ok` line waits for the picture.
  package var wait = true
  /// Whether the fetch waits while no route leads to its origin.
  package var waitsOnline = true
  /// Whether the fetch goes on when the connection is lost.
  package var detach = false
  /// Whether the reply includes the origin's status and headers.
  package var http = false
  private var box: ExtrasBox?

  /// The URL of a request for the picture whose descriptor comes with its line.
  package static let descriptorURL = "fd:"

  package init(url: String) {
    self.url = url
    // A file that somebody has is not copied to disk unless that is asked for.
    if isOfDescriptor { store = .memory }
  }

  package var isOfDescriptor: Bool { url == Self.descriptorURL }

  /// The rare fields; a request that has none of them has no box for them.
  package var extras: FetchExtras {
    get { box?.extras ?? FetchExtras() }
    set { box = newValue == FetchExtras() ? nil : ExtrasBox(newValue) }
  }

  /// The form in which the picture is wanted.
  package var form: PictureForm {
    get { box?.extras.form ?? PictureForm() }
    set { extras.form = newValue }
  }

  package var hasExtras: Bool { box != nil }
  package var receipt: ReceiptID? { box?.extras.receipt }
  package var slot: String? { box?.extras.slot }
  package var headers: [RequestHeader] { box?.extras.headers ?? [] }
  package var describe: Bool { box?.extras.describe ?? false }
  package var share: String? { box?.extras.share }
  package var timeoutMilliseconds: Int? { box?.extras.timeoutMilliseconds }
  package var maxBytes: Int? { box?.extras.maxBytes }
  package var tags: [String] { box?.extras.tags ?? [] }
  package var ttl: Int? { box?.extras.ttl }
}

extension FetchRequest {
  /// How a hit is shown.
  package struct Showing: Sendable {
    package let delivery: Delivery
    package let http: Bool
    package let describe: Bool
  }

  package var showing: Showing { Showing(delivery: delivery, http: http, describe: describe) }
}

/// The fields of a fetch that are rarely given.
package struct FetchExtras: Equatable, Sendable {
  /// The client's own receipt.
  package var receipt: ReceiptID?
  package var slot: String?
  /// Headers to add, in the order they were given.
  package var headers: [RequestHeader] = []
  package var form = PictureForm()
  /// Whether the reply includes a placeholder.
  package var describe = false
  /// The part of the connection's share of the decoders that pays for it.
  package var share: String?
  /// The deadline of the whole request.
  package var timeoutMilliseconds: Int?
  /// A larger body is refused.
  package var maxBytes: Int?
  package var tags: [String] = []
  /// Seconds of freshness to use instead of the origin's.
  package var ttl: Int?

  package init() {}
}

private final class ExtrasBox: Equatable, Sendable {
  let extras: FetchExtras

  init(_ extras: FetchExtras) { self.extras = extras }

  static func == (left: ExtrasBox, right: ExtrasBox) -> Bool { left.extras == right.extras }
}

/// One header that the client adds to the request to the origin.
package struct RequestHeader: Equatable, Sendable {
  package let name: String
  package let value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

// MARK: Reading

extension FetchRequest {
  /// Reads the fields of a line: the usual ones here, the rare ones where they are present.
  @inline(__always) init(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) {
    self.init(url: try fields.required(try fields.url(in: line), .url, of: .fetch))
    // Most fetches have nothing but a URL.
    if !fields.present.isSubset(of: .plainFetch) { try readOptions(fields, in: line) }
  }

  @inline(never) private mutating func readOptions(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) {
    identifier = try fields.identifier(in: line)
    cache = try fields.word(.cache, default: cache, in: line)
    delivery = try fields.word(.deliver, default: delivery, in: line)
    store = try fields.word(.store, default: store, in: line)
    if !cache.keeps { store = .none }
    priority = try fields.word(.priority, default: priority, in: line)
    progress = try fields.flag(.progress, default: progress, in: line)
    events = try fields.flag(.events, default: events, in: line)
    wait = try fields.flag(.wait, default: wait, in: line)
    waitsOnline = try fields.flag(.waitOnline, default: waitsOnline, in: line)
    detach = try fields.flag(.detach, default: detach, in: line)
    http = try fields.flag(.http, default: http, in: line)
    if !fields.present.isDisjoint(with: .fetchExtras) { try extras.read(fields, in: line) }
  }
}

extension FetchExtras {
  fileprivate mutating func read(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) {
    receipt = try fields.receipt(in: line)
    slot = try fields.slot(in: line)
    headers = try HeaderParser.headers(fields, in: line)
    form = try Self.form(fields, in: line)
    timeoutMilliseconds = try fields.integer(.timeoutMilliseconds, WireLimits.timeoutMilliseconds, in: line)
    maxBytes = try fields.integer(.maxBytes, 1...Int.max, in: line)
    tags = try fields.tags(in: line)
    ttl = try fields.integer(.ttl, WireLimits.seconds, in: line)
    describe = try fields.flag(.describe, default: false, in: line)
    share = try fields.string(.share, 1...WireLimits.share, in: line)
  }

  private static func form(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PictureForm {
    PictureForm(
      box: try BoxParser.box(fields, in: line), formats: try FormatParser.formats(fields, in: line),
      quality: try fields.integer(.quality, WireLimits.quality, in: line),
      mostBytes: try fields.integer(.encodedBytes, 1...Int.max, in: line),
      frames: try fields.word(.frames, default: .auto, in: line), layout: try FormatParser.layout(fields, in: line))
  }
}

// MARK: Writing

extension FetchRequest {
  func write(to json: inout JSONWriter) {
    json.field(.url, url)
    json.flag(.progress, progress)
    json.flag(.events, events)
    json.word(.cache, cache, usual: .default_)
    json.word(.deliver, delivery, usual: .path)
    form.write(to: &json)
    json.flag(.describe, describe)
    json.word(.store, store, usual: FetchRequest(url: url).store)
    json.field(.identifier, identifier)
    json.word(.priority, priority, usual: .normal)
    json.flag(.wait, wait, usual: true)
    json.flag(.waitOnline, waitsOnline, usual: true)
    json.flag(.detach, detach)
    json.flag(.http, http)
    if hasExtras { extras.write(to: &json) }
  }
}

extension FetchExtras {
  /// Writes the fields that are not about the form of the picture.
  fileprivate func write(to json: inout JSONWriter) {
    json.field(.ttl, ttl)
    json.field(.timeoutMilliseconds, timeoutMilliseconds)
    json.field(.maxBytes, maxBytes)
    if !tags.isEmpty { json.texts(.tags, tags) }
    if !headers.isEmpty {
      json.name(RequestField.headers.name)
      json.beginObject()
      for header in headers {
        json.name(header.name)
        json.value(header.value)
      }
      json.endObject()
    }
    json.field(.slot, slot)
    json.field(.share, share)
    json.field(.receipt, receipt?.description)
  }
}

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
  /// Any entry of this machine answers, and the caches stay as they are: this is neither a look-up nor a use.
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

  /// Its place among all, the one that is served last at 0.
  package var rank: Int {
    switch self {
    case .low: 0
    case .normal: 1
    case .high: 2
    }
  }

  /// A priority that is served later is smaller.
  package static func < (left: Priority, right: Priority) -> Bool { left.rank < right.rank }
}
