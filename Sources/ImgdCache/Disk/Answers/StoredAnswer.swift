internal import ImgdSystem

/// A remembered answer as its row has it, which has been found to be whole.
struct StoredAnswer: Sendable {
  /// After its lifetime, an answer that its origin can confirm is of use for so many seconds.
  private static let longestStale: Int64 = 7 * 86_400

  let record: StoredRecord
  let key: CacheKey

  /// Nil if the bytes were not written by this program, or not under this key.
  init?(_ encoded: [UInt8], under digest: [UInt8]) {
    guard let record = RecordCodec.decode(encoded), record.bytes == 0,
      let url = try? CanonicalURL.parse(record.url), sameBytes(url.text, record.url)
    else { return nil }
    let key = CacheKey(url: url, identifier: record.identifier, variant: record.variant)
    guard key.digest == record.digest, record.digest.bytes == digest else { return nil }
    self.record = record
    self.key = key
  }

  /// Whether it can be shown, or confirmed. One from the future was stored by a clock that has been set
  /// back since: it is unknown how old it is, and whether it was there before a purge.
  func isOfUse(at wall: Int64) -> Bool {
    guard record.storedAt <= wall else { return false }
    return record.freshUntil > wall
      || wall - record.storedAt <= Self.longestStale && canBeConfirmed
  }

  private var canBeConfirmed: Bool {
    guard let headers = StoredHeaders(packed: record.headers) else { return false }
    return headers.value(of: "etag") != nil || headers.value(of: "last-modified") != nil
  }

  /// The answer for the memory tier; nil when its record makes no sense.
  func image(wall: Int64, at now: Instant) -> CachedImage? {
    .make(record, key: key, payload: Payload([]), wall: wall, at: now)
  }
}

extension RemovalOrder {
  /// Whether an answer is meant. When it was last used is unknown: not later than it was stored, as far
  /// as a purge asks.
  ///
  /// Those of a single digest are about a picture.
  func means(_ answer: StoredAnswer) -> Bool {
    let record = answer.record
    guard filter.digest == nil, record.storedAt <= askedAt else { return false }
    if let storedBefore, record.storedAt >= storedBefore { return false }
    if let usedBefore, record.storedAt >= usedBefore { return false }
    if let staleAt, record.freshUntil > staleAt { return false }
    return filter.matchesName(answer.key, tags: record.tags)
  }
}
