internal import ImgdSystem

// An image as a row of the index file, and back.

extension IndexRow {
  /// What is to be written of an image; nil for one that is too large for the index.
  ///
  /// It may have been in memory for a while: its age goes on, it does not begin anew.
  init?(_ image: CachedImage, suffix: String, wall: Int64, at now: Instant) {
    guard image.payload.count <= Int(UInt32.max) else { return nil }
    let digest = KeyDigest(url: image.key.url.text, identifier: image.key.identifier)
    let freshness = image.freshness
    let storedAt = wall - max(now - image.storedAt, .zero).nanoseconds / 1_000_000_000
    self.init(
      record: IndexRecord(
        digestHigh: digest.high, digestLow: digest.low, bytes: image.payload.count, allocated: 0,
        storedAt: storedAt, lastAccess: wall,
        freshUntil: image.isGranted(at: now)
          ? storedAt + max(freshness.remaining.milliseconds / 1_000, 1) : 0,
        format: image.facts.format, orientation: image.facts.orientation,
        width: image.facts.width, height: image.facts.height, frames: image.facts.frames,
        flags: EntryFlags(image).rawValue),
      url: image.key.url.text, host: image.key.url.host, identifier: image.key.identifier)
    status = image.response.status
    headers = image.response.headers.packed
    finalURL = image.response.finalURL
    initialAgeMs = freshness.initialAge.milliseconds
    lifetimeMs = freshness.remaining.milliseconds
    whileRevalidateMs = freshness.staleWhileRevalidate.milliseconds
    ifErrorMs = freshness.staleIfError?.milliseconds
    freshnessFlags = FreshnessFlags(freshness).rawValue
    varying = StoredHeaders(image.vary.pairs).packed
    self.suffix = suffix
    tags = image.tags
  }

  /// The checksum is for the writer's thread: it takes its time.
  mutating func seal(_ payload: Payload) {
    let checksum = BodyChecksum(of: payload)
    (checksumHigh, checksumLow) = (checksum.high, checksum.low)
  }

  var checksum: BodyChecksum { BodyChecksum(high: checksumHigh, low: checksumLow) }

  var file: PictureFile? {
    PictureFile(
      digest: KeyDigest(high: record.digestHigh, low: record.digestLow), number: record.number,
      suffix: suffix)
  }

  /// Whether it is about this key; a digest alone is no proof.
  func isOf(_ key: CacheKey) -> Bool {
    sameBytes(url, key.url.text) && sameBytes(identifier ?? "", key.identifier ?? "")
      && (identifier == nil) == (key.identifier == nil)
  }
}

extension DoomedFile {
  var file: PictureFile? {
    PictureFile(
      digest: KeyDigest(high: digestHigh, low: digestLow), number: number, suffix: suffix)
  }
}

extension CachedImage {
  /// Whether its lifetime, over or not, may be believed: not after a soft purge, nor when nobody
  /// knows when it began.
  fileprivate func isGranted(at now: Instant) -> Bool {
    guard !freshness.needsConfirmation, !isStale, freshness.remaining > .zero else { return false }
    return state(at: now).isFresh || now - storedAt >= freshness.remaining
  }

  /// An image that was on disk, with the age that it has by now; nil when its row makes no sense.
  convenience init?(
    _ row: IndexRow, key: CacheKey, payload: Payload, facts: ImageFacts, wall: Int64,
    at now: Instant
  ) {
    guard let headers = StoredHeaders(packed: row.headers),
      let varying = StoredHeaders(packed: row.varying)
    else { return nil }
    let flags = FreshnessFlags(rawValue: row.freshnessFlags)
    let list = headers.list
    let names = varyingNames(list)
    let moment = StoredMoment(storedWall: row.record.storedAt, nowWall: wall, now: now)
    self.init(
      key: key, payload: payload, facts: facts,
      response: StoredResponse(status: row.status, headers: list, finalURL: row.finalURL),
      freshness: Freshness(row, flags, varying: names),
      vary: VaryOutcome(varying: names, sent: varying.list), tags: row.tags, serial: 0,
      at: moment.instant, wall: row.record.storedAt, isTimeDoubtful: moment.isDoubtful)
    // What no-cache would say of itself, a soft purge has said.
    if row.record.freshUntil == 0, row.lifetimeMs > 0, !flags.contains(.asks) { markStale() }
  }
}

/// What the index in memory has to know of the rest of a row.
struct EntryFlags: OptionSet {
  let rawValue: UInt8

  /// It was not redirected, depends on no header of the request, and was new when it came.
  static let plain = EntryFlags(rawValue: 1)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init(_ image: CachedImage) {
    let isPlain =
      image.response.finalURL == nil && image.vary == .none
      && image.freshness.initialAge < .seconds(1)
    self = isPlain ? .plain : []
  }
}

/// What a judgement says with yes or no, as it stands in a row.
struct FreshnessFlags: OptionSet {
  let rawValue: UInt8

  static let asks = FreshnessFlags(rawValue: 1)
  static let mustRevalidate = FreshnessFlags(rawValue: 2)
  static let immutable = FreshnessFlags(rawValue: 4)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init(_ freshness: Freshness) {
    self = []
    if freshness.needsConfirmation { insert(.asks) }
    if freshness.mustRevalidate { insert(.mustRevalidate) }
    if freshness.isImmutable { insert(.immutable) }
  }
}

extension Freshness {
  fileprivate init(_ row: IndexRow, _ flags: FreshnessFlags, varying: [String]) {
    self.init(
      initialAge: .milliseconds(row.initialAgeMs), remaining: .milliseconds(row.lifetimeMs),
      needsConfirmation: flags.contains(.asks), mustRevalidate: flags.contains(.mustRevalidate),
      isImmutable: flags.contains(.immutable), varyingHeaders: varying,
      staleWhileRevalidate: .milliseconds(row.whileRevalidateMs),
      staleIfError: row.ifErrorMs.map { .milliseconds($0) })
  }
}
