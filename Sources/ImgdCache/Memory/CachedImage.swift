package import ImgdSystem

/// The facts of a picture that are known without decoding it; the cache only keeps them.
package struct ImageFacts: Sendable, Equatable {
  /// A number whose meaning the daemon knows.
  package let format: UInt8
  package let orientation: UInt8
  package let width: Int32
  package let height: Int32
  package let frames: Int32

  package init(format: UInt8, width: Int, height: Int, frames: Int, orientation: Int) {
    self.format = format
    self.orientation = UInt8(clamping: orientation)
    self.width = Int32(clamping: width)
    self.height = Int32(clamping: height)
    self.frames = Int32(clamping: frames)
  }
}

/// The answer of an origin that an image came with, as `http` shows it.
package struct StoredResponse: Sendable {
  package let status: Int
  package let headers: StoredHeaders
  /// The URL that redirects led to; nil without any.
  package let finalURL: String?

  package init(status: Int, headers: HeaderList, finalURL: String? = nil) {
    self.status = status
    self.headers = StoredHeaders(StoredHeaders.fitting(headers))
    self.finalURL = finalURL
  }

  // The validators that ask whether the image still holds.

  package var entityTag: String? { headers.value(of: "etag") }
  package var lastModified: String? { headers.value(of: "last-modified") }

  package var canBeConfirmed: Bool { entityTag != nil || lastModified != nil }

  var cost: Int { headers.cost + (finalURL?.utf8.count ?? 0) }
}

/// An image and all that its tier and its readers have to know of it.
///
/// It belongs to the control loop. What can change later is changed through `MemoryTier`, which
/// keeps account of the bytes; an image that has left the tier stays whole for its holders. There
/// may be a hundred thousand of them, so that small fields stand together, where they share words.
package final class CachedImage {
  package let key: CacheKey
  package let facts: ImageFacts
  package let response: StoredResponse
  package let freshness: Freshness
  /// The headers of the request on which the answer depends.
  package let vary: VaryOutcome
  package let tags: [String]
  /// The number of the transfer that made it; a later one never gives way to an earlier.
  /// Nought for one that was made before this process began.
  package let serial: UInt64
  /// May lie before the beginning of the clock, for an image that an earlier process stored.
  package let storedAt: Instant
  /// Wall time in seconds since 1970, to be shown.
  package let storedAtWall: Int64

  package internal(set) var payload: Payload
  /// The part of an answer that is the same for everybody, encoded by the daemon.
  package internal(set) var replyPieces: [UInt8]?
  package internal(set) var lastAccess: Instant

  /// Its file on disk, or the last one; the disk tier knows whether it is still there.
  package internal(set) var file: StoredFile?

  /// Until when it may be shown without asking, as far as its age goes.
  private var freshUntil: Instant

  /// The number of its file in the index, when an earlier process has left it; 0: none.
  var formerFile: UInt32 = 0
  private var placeNumber: Int32 = -1
  /// It is unknown when it was stored.
  private let isTimeDoubtful: Bool
  private var hitCount: UInt32 = 0
  /// A purge has matched it: it is delivered to those who wait for it, and kept nowhere any more.
  package internal(set) var isPurged: Bool
  /// Whether a descriptor of its bytes has been handed out.
  package internal(set) var isLent = false
  /// Marked by a soft purge: to be confirmed before it is shown again.
  package internal(set) var isStale = false

  /// `isTimeDoubtful` says that it is unknown when it was stored: then it has no lifetime left.
  package init(
    key: CacheKey, payload: Payload, facts: ImageFacts, response: StoredResponse,
    freshness: Freshness, vary: VaryOutcome = .none, tags: [String] = [], serial: UInt64,
    isPurged: Bool = false, at now: Instant, wall: Int64, isTimeDoubtful: Bool = false
  ) {
    self.key = key
    self.payload = payload
    self.facts = facts
    self.response = response
    self.freshness = freshness
    self.vary = vary
    self.tags = tags
    self.serial = serial
    self.isPurged = isPurged
    storedAt = max(now, StoredMoment.earliest)
    storedAtWall = wall
    lastAccess = storedAt
    self.isTimeDoubtful = isTimeDoubtful
    freshUntil = storedAt
    let end = expiresAt
    freshUntil = freshness.needsConfirmation ? min(storedAt, end) : end
  }

  /// The same picture after its origin has confirmed it; its own freshness begins anew.
  package func renewed(
    response: StoredResponse, freshness: Freshness, vary: VaryOutcome = .none,
    tags more: [String] = [], serial: UInt64, isPurged: Bool = false, at now: Instant, wall: Int64
  ) -> CachedImage {
    let renewed = CachedImage(
      key: key, payload: payload, facts: facts, response: response, freshness: freshness,
      vary: vary, tags: EntryTags.union(tags, more), serial: serial,
      isPurged: isPurged, at: now, wall: wall)
    renewed.file = file
    return renewed
  }

  // MARK: Its tier

  /// Its place in its tier; nil outside.
  var place: Int? {
    get { placeNumber < 0 ? nil : Int(placeNumber) }
    set { placeNumber = newValue.map { Int32($0) } ?? -1 }
  }

  /// How often it was found in its tier; the count stops at the end of its type.
  package var hits: Int { Int(hitCount) }

  func countHit() { hitCount = hitCount &+ (hitCount == .max ? 0 : 1) }

  // MARK: Time

  /// The end of its lifetime.
  private var expiresAt: Instant {
    guard !isTimeDoubtful else { return StoredMoment.earliest }
    let end = min(storedAt + freshness.remaining, Instant(nanoseconds: .max / 2))
    return max(end, StoredMoment.earliest)
  }

  /// How old it was when it came.
  private var initialAge: Int64 { min(max(freshness.ageNanoseconds, 0), StoredMoment.longest) }

  /// Whether it may be shown without asking its origin.
  package func isFresh(at now: Instant) -> Bool { now < freshUntil }

  /// Whole seconds since the origin made it.
  package func age(at now: Instant) -> Int {
    let age = initialAge
    return Int(max(now.nanoseconds - (storedAt.nanoseconds - age), age) / 1_000_000_000)
  }

  /// Whole seconds for which it is fresh still.
  package func freshFor(at now: Instant) -> Int {
    isFresh(at: now) ? Int((freshUntil.nanoseconds - now.nanoseconds) / 1_000_000_000) : 0
  }

  func markStale() {
    isStale = true
    freshUntil = min(storedAt, expiresAt)
  }

  // MARK: HTTP

  /// Its state for a policy to decide on, at this moment.
  package func state(at now: Instant) -> StoredState {
    let expiresAt = expiresAt
    return StoredState(
      isFresh: now < expiresAt, staleFor: max(now - expiresAt, .zero),
      needsConfirmation: freshness.needsConfirmation, mustRevalidate: freshness.mustRevalidate,
      isMarkedStale: isStale, isImmutable: freshness.isImmutable,
      staleWhileRevalidate: freshness.staleWhileRevalidate, staleIfError: freshness.staleIfError)
  }

  /// Whether the answer is one to a request with these extra headers, in lower case.
  package func isFor(sent headers: HeaderList) -> Bool { vary.matches(sent: headers) }

  /// The bytes it really holds.
  package var cost: Int {
    Self.bookkeeping + payload.cost + key.cost + response.cost + vary.cost
      + (replyPieces?.count ?? 0) + (file?.cost ?? 0)
      + tags.reduce(0) { $0 + $1.utf8.count + 16 }
  }

  /// The bytes of an entry that are not counted one by one (measured).
  static let bookkeeping = 512
}

extension CacheKey {
  package var cost: Int { url.text.utf8.count + (identifier?.utf8.count ?? 0) }
}
