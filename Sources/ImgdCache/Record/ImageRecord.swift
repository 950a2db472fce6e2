package import ImgdSystem

// An image as a stored record, and back.

extension StoredRecord {
  /// The record of an image; nil if the image is too large for the index, has credentials in
  /// its key, or consists of pixels.
  ///
  /// The image may have been in memory for a while: its age goes on, it does not begin anew. Without
  /// `packsFields` the record has no fields of the answer yet: the thread that packs them adds them.
  package init?(_ image: CachedImage, wall: Int64, at now: Instant, packsFields: Bool = true) {
    guard !image.isPixels, let digest = image.digest, image.byteCount <= Int(UInt32.max) else { return nil }
    let (freshness, response) = (image.freshness, image.response)
    let storedAt = wall - max(now - image.storedAt, .zero).nanoseconds / 1_000_000_000
    self.init(
      url: image.url.text, identifier: image.identifier, variant: image.variant, digest: digest, bytes: image.byteCount,
      facts: image.facts, checksum: image.checksum, storedAt: storedAt,
      freshUntil: image.isGranted(at: now) ? storedAt + max(freshness.remaining.milliseconds / 1_000, 1) : 0,
      status: response.status, headers: packsFields ? response.headers.packed : [],
      redirectTarget: response.redirectTarget,
      initialAgeMs: freshness.ageNanoseconds / 1_000_000, lifetimeMs: freshness.remainingNanoseconds / 1_000_000,
      whileRevalidateMs: freshness.staleWhileRevalidate.milliseconds, ifErrorMs: freshness.staleIfError?.milliseconds,
      flags: RecordFlags(image), varying: StoredHeaders(image.vary.pairs).packed,
      place: image.formPlace ?? image.vary.place,
      tags: image.tags, description: image.description, owner: image.owner)
    let missing = packsFields ? 0 : StoredHeaders.mostKept
    guard varying.count <= StoredHeaders.mostKept, RecordCodec.hasRoom(for: self, and: missing) else { return nil }
  }

  /// The body as it was read; without bytes if there were none any more.
  fileprivate func body(_ payload: Payload?, facts: ImageFacts) -> ImageBody {
    guard let payload else {
      return ImageBody(away: bytes, facts: facts, checksum: checksum, description: description)
    }
    return ImageBody(payload, facts: facts, checksum: checksum, description: description)
  }

  /// An answer with no-cache has no such time from the start; any other has lost it to a soft purge.
  fileprivate var isMarkedStale: Bool { freshUntil == 0 && lifetimeMs > 0 && !flags.contains(.needsConfirmation) }
}

extension RecordFlags {
  init(_ image: CachedImage) {
    self = []
    if image.freshness.needsConfirmation { insert(.needsConfirmation) }
    if image.freshness.mustRevalidate { insert(.mustRevalidate) }
    if image.freshness.isOpenOnlyWhileFresh { insert(.openOnlyWhileFresh) }
    if image.freshness.isImmutable { insert(.immutable) }
    let isPlain = image.redirectTarget == nil && image.vary == .none && image.freshness.initialAge < .seconds(1)
    if isPlain { insert(.plain) }
    if image.formPlace != nil { insert(.form) }
    if image.isFromPublicAddress { insert(.publicAddress) }
  }
}

extension CachedImage {
  /// Whether its lifetime, over or not, can be trusted: not after a soft purge, nor when it is unknown
  /// when the lifetime began.
  fileprivate func isGranted(at now: Instant) -> Bool {
    guard !freshness.needsConfirmation, !isStale, freshness.remaining > .zero else { return false }
    return state(at: now).isFresh || now - storedAt >= freshness.remaining
  }

  /// A stored image, with the age that it has reached by now; nil when its record makes no sense.
  static func make(_ record: StoredRecord, key: CacheKey, payload: Payload?, wall: Int64, at now: Instant)
    -> CachedImage?
  {
    guard let headers = StoredHeaders(packed: record.headers), let vary = VaryOutcome(record) else { return nil }
    let response = StoredResponse(status: record.status, headers: headers.list, redirectTarget: record.redirectTarget)
    let image = make(
      key: key, body: record.body(payload, facts: record.facts),
      answer: ImageAnswer(
        response, freshness: Freshness(record), vary: vary, isFromPublicAddress: record.flags.contains(.publicAddress)),
      tags: record.tags, owner: record.owner, serial: 0,
      stored: StoredMoment(storedWall: record.storedAt, nowWall: wall, now: now))
    if record.flags.contains(.form) { image.formPlace = record.place }
    if record.isMarkedStale { image.markStale() }
    return image
  }

  /// A picture that another host has stored; nil when its record belongs to another key, does not fit
  /// a request with the headers `sent`, or makes no sense.
  ///
  /// `facts` come from the bytes themselves and not from the record: the other host may have been wrong.
  package static func make(
    _ record: StoredRecord, key: CacheKey, payload: Payload, facts: ImageFacts, sent: HeaderList,
    vary: (HeaderList) -> VaryOutcome, owner: UInt32? = nil, serial: UInt64, checked: UInt64,
    stored moment: StoredMoment
  ) -> CachedImage? {
    guard record.isOf(key), record.redirectTarget == nil, payload.count == record.bytes,
      let headers = StoredHeaders(packed: record.headers), let stored = VaryOutcome(record), stored.matches(sent: sent)
    else { return nil }
    let list = headers.list
    let image = make(
      key: key, body: record.body(payload, facts: facts),
      answer: ImageAnswer(
        StoredResponse(status: record.status, headers: list), freshness: Freshness(record), vary: vary(list),
        isFromPublicAddress: record.flags.contains(.publicAddress)),
      tags: EntryTags.withoutUsers(record.tags), owner: owner, serial: serial, checked: checked, stored: moment)
    if record.isMarkedStale { image.markStale() }
    return image
  }
}

extension VaryOutcome {
  init?(_ record: StoredRecord) {
    guard let headers = StoredHeaders(packed: record.headers), let varying = StoredHeaders(packed: record.varying)
    else { return nil }
    let place = record.flags.contains(.form) ? nil : record.place
    self.init(varying: varyingNames(headers.list), sent: varying.list, place: place)
  }
}

extension Freshness {
  fileprivate init(_ record: StoredRecord) {
    self.init(
      initialAge: .milliseconds(record.initialAgeMs), remaining: .milliseconds(record.lifetimeMs),
      needsConfirmation: record.flags.contains(.needsConfirmation),
      mustRevalidate: record.flags.contains(.mustRevalidate),
      isOpenOnlyWhileFresh: record.flags.contains(.openOnlyWhileFresh), isImmutable: record.flags.contains(.immutable),
      staleWhileRevalidate: .milliseconds(record.whileRevalidateMs),
      staleIfError: record.ifErrorMs.map { .milliseconds($0) })
  }
}
