// The beginning of a body that broke off.
//
//   200, breaks off ──→ PartialBody ──→ Range: bytes=N-, If-Range: validator
//                            ▲               ├→ matching 206: continues at N
//                            └── breaks off ─┤
//                                            ├→ 200: the new body, from its start
//                                            └→ 416, or another 206: requested again, whole
//
// The assembled body must equal the origin's, byte for byte. So a beginning is kept only with a strong
// validator, undecoded, and from an origin that announces ranges; and the rest is accepted only if it
// starts where the beginning stops, and has the same total and the same version.

internal import CCurl
internal import ImgdSystem

/// The first part of a body, with the facts that are needed to fetch the rest.
final class PartialBody {
  var bytes = PayloadWriter()
  /// The head of the first response, updated by later parts.
  let head: HeadCollector
  let validator: StrongValidator
  /// The length of the whole body, if the origin has stated it.
  private let total: Int?

  /// nil when the response cannot be continued.
  init?(of head: HeadCollector, total: Int?) {
    guard head.status == 200, head.first("content-encoding") == nil, head.list("accept-ranges").contains("bytes"),
      let validator = StrongValidator(of: head)
    else { return nil }
    self.head = head
    self.validator = validator
    self.total = total
  }

  var count: Int { bytes.count }

  var headers: [HeaderField] { [HeaderField("Range", "bytes=\(count)-"), HeaderField("If-Range", validator.text)] }

  /// Whether it may be kept for another transfer: a response that may not be stored may not be kept here either.
  var mayBeStored: Bool {
    let directives = head.list("cache-control")
    return !directives.contains { $0 == "no-store" || $0 == "private" || $0.hasPrefix("private=") }
  }

  /// The range that a 206 adds; nil when it does not continue this body. `length` is that of the 206's body.
  func range(addedBy head: HeadCollector, length: Int?) -> ContentRange? {
    // A multipart body has no such header: each part states its own range.
    guard head.first("content-encoding") == nil, validator.holds(for: head), let value = head.first("content-range"),
      let range = ContentRange(value), range.first == count, range.total == total ?? range.total,
      length == nil || length == range.count
    else { return nil }
    return range
  }
}

/// Identifies one version of a body (RFC 9110, section 8.8.1). Only with it may parts of two responses be joined.
struct StrongValidator: Equatable {
  /// As the origin wrote it, for `If-Range`.
  let text: String
  private let isTag: Bool

  /// A file that changes twice within a second keeps its date, and an origin's clocks may differ a
  /// little. So a date is trusted only when the file has not changed for this many seconds.
  private static let mostRecent: Int = 60

  /// nil when the response has none. A client that has a tag, even a weak one, must not use the date.
  init?(of head: HeadCollector) {
    if let tag = head.first("etag") {
      guard Self.isStrong(tag: tag) else { return nil }
      text = tag
      isTag = true
    } else {
      guard let modified = head.first("last-modified"), let date = head.first("date"),
        Self.isStrong(modified: modified, date: date)
      else { return nil }
      text = modified
      isTag = false
    }
  }

  /// Whether a 206 belongs to the same version. After a request with a tag it must repeat the tag.
  func holds(for head: HeadCollector) -> Bool {
    if let tag = head.first("etag") { return isTag && tag == text }
    guard !isTag else { return false }
    return head.first("last-modified").map { $0 == text } ?? true
  }

  /// Only ASCII, because other bytes may have changed when they became a string.
  private static func isStrong(tag: String) -> Bool {
    let bytes = tag.utf8
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") }
  }

  private static func isStrong(modified: String, date: String) -> Bool {
    guard modified.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
    let changed = unsafe curl_getdate(modified, nil)
    let sent = unsafe curl_getdate(date, nil)
    guard changed >= 0, sent >= 0 else { return false }
    return sent - changed >= mostRecent
  }
}

/// The `Content-Range` of a 206: `bytes 600-999/1000`. Without a total (`*`) the end of the body would be unknown.
struct ContentRange: Equatable {
  let first: Int
  let last: Int
  let total: Int

  var count: Int { last - first + 1 }

  init?(_ value: String) {
    let unit = value.utf8.prefix { $0 != UInt8(ascii: " ") }
    guard String(Substring(unit)).lowercased() == "bytes" else { return nil }
    var rest = value.utf8.dropFirst(unit.count).drop { $0 == UInt8(ascii: " ") }
    guard let first = Self.number(&rest, endedBy: UInt8(ascii: "-")),
      let last = Self.number(&rest, endedBy: UInt8(ascii: "/")), let total = Self.number(&rest, endedBy: nil),
      first <= last, last < total
    else { return nil }
    self.first = first
    self.last = last
    self.total = total
  }

  /// Only digits: `Int` would accept a sign.
  private static func number(_ rest: inout Substring.UTF8View, endedBy end: UInt8?) -> Int? {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    let after = rest.dropFirst(digits.count)
    guard after.first == end else { return nil }
    rest = after.dropFirst()
    return Int(Substring(digits))
  }
}

/// The facts that must be equal for one transfer to continue the body of another.
struct PartialKey: Hashable {
  let url: String
  /// Credentials included: a body is never shared between different ones.
  let headers: [HeaderField]
}

/// Bodies that wait to be continued, limited in number, size and age: old ones are removed at the next use. What is
/// there for all is divided where several engines keep such bodies.
struct PartialBodies {
  static let most = 64
  static let mostBytes = 32 << 20
  static let longestWait = Duration.seconds(600)

  private let mostBytes: Int

  /// The oldest first.
  private var entries: [(key: PartialKey, body: PartialBody, since: Instant)] = []
  private(set) var bytes = 0

  init(share: Int = 1) { mostBytes = Self.mostBytes / share }

  var count: Int { entries.count }

  mutating func add(_ body: PartialBody, for key: PartialKey, at now: Instant) {
    _ = takeBody(of: key, at: now)
    guard body.count <= mostBytes, body.mayBeStored else { return }
    entries.append((key, body, now))
    bytes += body.count
    while entries.count > Self.most || bytes > mostBytes { remove(at: 0) }
  }

  mutating func takeBody(of key: PartialKey, at now: Instant) -> PartialBody? {
    while let oldest = entries.first, now - oldest.since > Self.longestWait { remove(at: 0) }
    return entries.firstIndex { $0.key == key }.map { remove(at: $0) }
  }

  mutating func removeAll() {
    entries.removeAll()
    bytes = 0
  }

  @discardableResult private mutating func remove(at index: Int) -> PartialBody {
    let body = entries.remove(at: index).body
    bytes -= body.count
    return body
  }
}
