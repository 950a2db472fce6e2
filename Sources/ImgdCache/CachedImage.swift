package import ImgdSystem

/// What is known of a picture besides its bytes; `format` is the number of a format that this
/// target does not know.
package struct ImageFacts: Sendable, Equatable {
  package let format: UInt8
  package let width: Int
  package let height: Int
  package let frames: Int
  package let orientation: Int

  package init(format: UInt8, width: Int, height: Int, frames: Int, orientation: Int) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.orientation = orientation
  }
}

/// The answer behind an image, as it is stored.
package struct StoredAnswer: Sendable {
  package let status: Int
  /// Lower-case names, each once.
  package let headers: [(name: String, value: String)]
  package let finalURL: String?
  package let freshness: Freshness

  package init(
    status: Int, headers: [(name: String, value: String)], finalURL: String?,
    freshness: Freshness
  ) {
    self.status = status
    self.headers = headers
    self.finalURL = finalURL
    self.freshness = freshness
  }

  package subscript(name: String) -> String? {
    headers.first { $0.name == name }?.value
  }

  /// The headers after the origin has confirmed the answer: those it sent along replace the old
  /// ones, but for those that speak of the bytes.
  package func headers(
    confirmedWith fresh: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    let replacing = fresh.filter { !$0.name.hasPrefix("content-") }
    let kept = headers.filter { old in !replacing.contains { $0.name == old.name } }
    return kept + replacing
  }
}

/// A picture with everything that is needed to answer with it.
///
/// Confined to the loop that owns the cache; its payload is what crosses to others.
package final class CachedImage {
  /// What an entry costs besides what can be counted: the object, its node, its place in the table
  /// and the strings' headers (measured over a million entries, see `docs/performance.md`).
  static let bookkeeping = 480

  package let key: CacheKey
  package let facts: ImageFacts
  package let answer: StoredAnswer
  package let tags: [String]
  /// The number of the transfer that brought it: a later one has the later image.
  package let serial: UInt64
  /// When it was stored, by the wall clock, for people.
  package let storedAt: Int64
  /// When it was stored or confirmed, by the clock that never jumps.
  package let storedInstant: Instant

  /// Replaced by the same bytes in a memfd when somebody asks for a descriptor.
  package internal(set) var payload: Payload
  /// Whether a descriptor of it has been handed out.
  package internal(set) var isLent = false
  /// A soft purge has marked it: it must be confirmed before it is used again.
  package internal(set) var isOutdated = false
  package internal(set) var lastAccess: Instant
  /// A part of the answers about it, encoded once; the daemon's, and counted as its cost.
  package var replyPiece: [UInt8] = []

  /// Its place in the tier that holds it.
  var place: Int32 = -1
  /// What it was accounted for when it was added.
  var accountedCost = 0

  package init(
    key: CacheKey, payload: Payload, facts: ImageFacts, answer: StoredAnswer, tags: [String] = [],
    serial: UInt64, storedAt: Int64, now: Instant
  ) {
    self.key = key
    self.payload = payload
    self.facts = facts
    self.answer = answer
    self.tags = tags
    self.serial = serial
    self.storedAt = storedAt
    storedInstant = now
    lastAccess = now
  }

  /// The same picture, confirmed by its origin.
  package func renewed(
    answer: StoredAnswer, serial: UInt64, storedAt: Int64, now: Instant
  ) -> CachedImage {
    CachedImage(
      key: key, payload: payload, facts: facts, answer: answer, tags: tags, serial: serial,
      storedAt: storedAt, now: now)
  }

  // MARK: Time

  /// Seconds since the origin made the answer.
  package func age(at now: Instant) -> Int {
    let held = max((now - storedInstant).nanoseconds, 0) / 1_000_000_000
    return Int(answer.freshness.initialAge + held)
  }

  /// Seconds for which it may still be used unasked; 0 for a stale one.
  package func freshFor(at now: Instant) -> Int {
    guard !isOutdated, !answer.freshness.mustRevalidate else { return 0 }
    return max(Int(answer.freshness.lifetime) - age(at: now), 0)
  }

  package func isFresh(at now: Instant) -> Bool { freshFor(at: now) > 0 }

  // MARK: Identity

  /// Whether an origin can be asked if it still holds.
  package var canBeConfirmed: Bool { entityTag != nil || lastModified != nil }
  package var entityTag: String? { answer["etag"] }
  package var lastModified: String? { answer["last-modified"] }

  /// The bytes it holds: its payload, its key, its headers, its tags, and what is kept about it.
  var cost: Int {
    var bytes = payload.cost + Self.bookkeeping + key.url.utf8.count + replyPiece.count
    bytes += key.identifier?.utf8.count ?? 0
    for header in answer.headers { bytes += header.name.utf8.count + header.value.utf8.count + 32 }
    for tag in tags { bytes += tag.utf8.count + 16 }
    return bytes
  }
}
