package import ImgdSystem

/// An image and all that its tier and its readers have to know of it.
///
/// It belongs to the control loop. What can change later is changed through `MemoryTier`, which
/// keeps account of the bytes; an image that has left the tier stays whole for its holders. There
/// may be a million of them, so an image is one piece of memory: its URL, its header fields and, if they are
/// few, its bytes lie behind its fields. Separate pieces would cost as much as the fields.
package final class CachedImage: ManagedBuffer<ImageFields, UInt8> {
  /// A larger body is not copied into the image: the cost of its own piece of memory is small beside it.
  static let mostInside = 8 << 10

  /// Makes an image that was stored, or made, at a moment; it is in no tier yet.
  package static func make(
    key: CacheKey, body: ImageBody, answer: ImageAnswer, tags: [String] = [], owner: UInt32? = nil, serial: UInt64,
    isPurged: Bool = false, checked: UInt64 = 0, stored moment: StoredMoment
  ) -> CachedImage {
    let (payload, response) = (body.payload, answer.response)
    let isInside = !payload.isShareable && payload.count <= mostInside
    let storedAt = max(moment.instant, StoredMoment.earliest)
    let fields = ImageFields(
      extras: ImageExtras(
        distinction: key.distinction, vary: answer.vary, tags: EntryClaims.tags(tags, of: owner),
        redirectTarget: response.redirectTarget,
        description: body.description), freshUntil: storedAt, checked: checked, lastAccess: storedAt,
      storedAt: storedAt, owner: owner ?? EntryOwner.nobody, awayCount: body.awayCount,
      urlCount: UInt16(key.url.text.utf8.count),
      headerCount: UInt16(response.headers.kept.count), bodyCount: isInside ? UInt16(payload.count) : 0,
      status: UInt16(clamping: response.status), isTimeDoubtful: moment.isDoubtful, isPixels: body.isPixels,
      isFromPublicAddress: answer.isFromPublicAddress, isPurged: isPurged, freshness: answer.freshness,
      facts: body.facts, payload: isInside ? nil : payload, digest: key.digest ?? KeyDigest(high: 0, low: 0),
      checksum: body.checksum, serial: serial, storedAtWall: moment.wall)
    let count = Int(fields.urlCount) + Int(fields.headerCount) + Int(fields.bodyCount)
    let buffer = create(minimumCapacity: count) { _ in fields }
    // `create` makes an object of the class that it is called on.
    let image = unsafe unsafeDowncast(buffer, to: CachedImage.self)
    image.fill(key.url, response.headers, isInside ? payload : nil)
    let end = image.expiresAt
    image.header.freshUntil = answer.freshness.needsConfirmation ? min(storedAt, end) : end
    return image
  }

  deinit { header.answer.free() }

  /// The same picture after its origin has confirmed it; its own freshness begins anew.
  ///
  /// Under a key other than its own it has no file. Its groups stay unless the confirmation names others.
  package func renewed(
    under renewedKey: CacheKey? = nil, answer: ImageAnswer, tags more: [String] = [], keepsGroups: Bool = true,
    serial: UInt64, isPurged: Bool = false, checked: UInt64 = 0, stored moment: StoredMoment
  ) -> CachedImage {
    let tags = EntryTags.union(keepsGroups ? tags : EntryTags.withoutGroups(tags), more)
    let key = key
    var answer = answer
    answer.isFromPublicAddress = isFromPublicAddress
    let renewed = Self.make(
      key: renewedKey ?? key, body: body, answer: answer, tags: tags, owner: owner, serial: serial, isPurged: isPurged,
      checked: checked, stored: moment)
    if renewed.key == key { renewed.file = file }
    return renewed
  }

  // MARK: What it is

  package var facts: ImageFacts { header.facts }
  /// False for an answer that brought no picture: a redirect, or a failure.
  package var isPicture: Bool { header.facts != .none }
  package var freshness: Freshness { header.freshness }
  /// The headers of the request on which the answer depends.
  package var vary: VaryOutcome { header.extras?.vary ?? .none }
  package internal(set) var tags: [String] {
    get { header.extras?.tags ?? [] }
    set { changeExtras { $0.tags = newValue } }
  }
  /// The user who asked for it first, for whom the room that it takes counts; nil if nobody knows.
  package internal(set) var owner: UInt32? {
    get { header.owner == EntryOwner.nobody ? nil : header.owner }
    set { header.owner = newValue ?? EntryOwner.nobody }
  }
  /// Whether it has these tags, and claims among them.
  package func hasAll(_ tags: [String]) -> Bool {
    let own = self.tags
    return tags.allSatisfy { EntryTags.have($0, own) || EntryTags.isClaim($0) && $0 == owner.map(EntryClaims.tag) }
  }

  /// Whether a user has a claim, or one could not be kept; asked with each hit, this allocates nothing.
  package func isClaimed(by uid: UInt32) -> Bool { owner == uid || EntryClaims.have(EntryClaims.tag(of: uid), tags) }

  package var claims: EntryClaims { EntryClaims(owner: owner, tags: tags) }

  /// Takes over the claims on the image in whose place it comes.
  func takeClaims(of former: CachedImage) {
    // Usually the same user has asked for both.
    guard owner != former.owner || !former.tags.isEmpty else { return }
    let (own, others) = (claims.all, former.claims.all)
    guard own != others else { return }
    take(owner: former.owner, of: former.byteCount)
    tags = EntryClaims.tags(EntryTags.union(tags, own + others), of: owner)
  }

  /// Stays with the user for whom the picture counts in whose place it comes, and of so many bytes, unless it has grown:
  /// then that would be at the cost of somebody who has not asked for it.
  package func take(owner former: UInt32?, of bytes: Int) {
    guard let former, former != owner, byteCount <= bytes else { return }
    let own = claims.all
    owner = former
    tags = EntryClaims.tags(EntryTags.union(tags, own), of: former)
  }

  /// The checksum of its bytes.
  package var checksum: BodyChecksum { header.checksum }
  /// Whether its bytes are those of a decoded picture, which are kept in memory only.
  package var isPixels: Bool { header.isPixels }
  /// Whether its bytes hold one of the descriptors that are kept in reserve.
  package var takesReserve: Bool { header.payload?.takesReserve ?? false }
  /// Whether it is a redirect that a public address has sent: then it must not lead to a private one.
  package var isFromPublicAddress: Bool { header.isFromPublicAddress }
  /// The number of the transfer that brought it: an image never gives way to one of an earlier transfer.
  /// 0 if it came before this process began.
  package var serial: UInt64 { header.serial }
  /// May lie before the beginning of the clock, for an image that an earlier process stored.
  package var storedAt: Instant { header.storedAt }
  /// Wall time in seconds since 1970, to be shown.
  package var storedAtWall: Int64 { header.storedAtWall }

  /// The file that it has or last had on disk; only the disk tier can tell whether it is still there.
  package internal(set) var file: StoredFile? {
    get { header.file }
    set {
      header.file = newValue
      // What was kept of a path, and that it was lent, is about another file.
      header.lentTerm = 0
      header.answer.replaceEnding(by: [])
    }
  }

  /// A few bytes that stand for the picture, as the daemon has encoded them; empty if there are none.
  package internal(set) var description: [UInt8] {
    get { header.extras?.description ?? [] }
    set { changeExtras { $0.description = newValue } }
  }

  /// The end of the daemon's encoded answer with a descriptor; nil until one was handed out.
  package internal(set) var lentEnding: [UInt8]? {
    get { header.extras?.lentEnding }
    set { changeExtras { $0.lentEnding = newValue } }
  }

  /// The origin's answer as the daemon's answers have it, encoded; nil until one had it.
  package internal(set) var encodedResponse: [UInt8]? {
    get { header.extras?.encodedResponse }
    set { changeExtras { $0.encodedResponse = newValue } }
  }

  /// What a client is told that has the picture; nil until one was.
  package internal(set) var confirmation: ImageConfirmation? {
    get { header.extras?.confirmation }
    set { changeExtras { $0.confirmation = newValue } }
  }

  func changeExtras(_ change: (ImageExtras) -> Void) {
    let extras = header.extras ?? ImageExtras()
    change(extras)
    header.extras = extras
  }

  /// The number of its file in the index, for an image that an earlier process has left; 0 without a file.
  var formerFile: UInt32 {
    get { header.formerFile }
    set { header.formerFile = newValue }
  }

  package internal(set) var lastAccess: Instant {
    get { header.lastAccess }
    set { header.lastAccess = newValue }
  }

  /// Whether a purge or a later answer made it void before it arrived: those who wait get it, and no tier keeps it.
  package internal(set) var isPurged: Bool {
    get { header.isPurged }
    set { header.isPurged = newValue }
  }

  /// The last purge that it was compared with (`PurgeList`).
  package internal(set) var checked: UInt64 {
    get { header.checked }
    set { header.checked = newValue }
  }

  /// Whether a descriptor of its bytes has been handed out.
  package internal(set) var isLent: Bool {
    get { header.isLent }
    set { header.isLent = newValue }
  }

  /// Whether a soft purge has marked it: then its origin has to confirm it before it is shown again.
  package var isStale: Bool { header.isStale }

  /// Whether the answer fits a request with these extra headers, named in lower case.
  package func isFor(sent headers: HeaderList) -> Bool { header.extras?.vary.matches(sent: headers) ?? true }

  // MARK: Its tier

  var place: Int? {
    get { header.place < 0 ? nil : Int(header.place) }
    set { header.place = newValue.map { Int32($0) } ?? -1 }
  }

  /// The bytes that it really holds.
  package var cost: Int {
    Self.bookkeeping + Int(header.urlCount) + Int(header.headerCount) + bodyCost + (header.extras?.cost ?? 0)
      + header.answer.count + (file?.cost ?? 0)
  }

  /// What its picture's bytes hold of that; those behind the fields stay when it gets a memfd.
  var bodyCost: Int { Int(header.bodyCount) + (header.payload?.cost ?? 0) }

  /// The bytes of an entry that are not counted one by one (measured).
  static let bookkeeping = 296
}

// What lies behind an image's fields: its URL, its header fields, and its bytes if they are few.

extension CachedImage {
  /// Writes what lies behind the fields, once.
  func fill(_ url: CanonicalURL, _ headers: StoredHeaders, _ payload: Payload?) {
    let count = contentCount
    // The image was made with room for all of it, and nobody reads it before it is written.
    unsafe withUnsafeMutablePointerToElements { elements in
      let room = unsafe UnsafeMutableBufferPointer(start: elements, count: count)
      var end = unsafe room.update(fromContentsOf: url.text.utf8)
      end = unsafe room[end...].update(fromContentsOf: headers.kept)
      payload?.withBytes { bytes in
        unsafe bytes.withUnsafeBufferPointer { bytes in end = unsafe room[end...].update(fromContentsOf: bytes) }
      }
      precondition(end == count, "all that lies behind an image is written")
    }
  }

  private var urlEnd: Int { Int(header.urlCount) }
  private var headersEnd: Int { urlEnd + Int(header.headerCount) }
  private var contentCount: Int { headersEnd + Int(header.bodyCount) }

  /// Lends some of what lies behind the fields for the duration of the call.
  @inline(__always) private func withContent<R, E: Error>(_ range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R)
    throws(E) -> R
  {
    // The content was written when the image was made, and does not change.
    try unsafe withUnsafeMutablePointerToElements { (elements) throws(E) -> R in
      let content = unsafe UnsafeBufferPointer(start: elements, count: range.upperBound)
      return try body(unsafe content.span.extracting(range))
    }
  }

  // MARK: Its key

  @inline(__always) func withURL<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try withContent(0..<urlEnd, body)
  }

  /// The URL in its one form; each call makes a new text.
  package var url: CanonicalURL {
    CanonicalURL(
      canonical: withURL { url in
        unsafe url.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
      })
  }

  /// The key, put together anew for each call.
  package var key: CacheKey { CacheKey(url: url, header.extras?.distinction, digest) }

  package var identifier: String? { header.extras?.distinction?.identifier }
  var variant: KeyVariant? { header.extras?.distinction?.variant }
  var scope: CredentialScope? { header.extras?.distinction?.scope }
  /// The name of its files; nil with credentials.
  package var digest: KeyDigest? { scope == nil ? header.digest : nil }

  /// Whether its key is this URL and nothing else.
  @inline(__always) func isPlain(_ url: Span<UInt8>) -> Bool { header.extras?.distinction == nil && isOf(url) }

  /// Whether it has this URL, whatever else is in its key.
  @inline(__always) func isOf(_ url: Span<UInt8>) -> Bool { withURL { sameBytes($0, url) } }

  /// Whether it has this URL, given as a text, whatever else is in its key.
  package func isOf(_ url: String) -> Bool { isOf(url.utf8.span) }

  func begins(with prefix: String) -> Bool { withURL { ImgdCache.begins($0, with: prefix) } }

  func has(_ part: URLPart) -> Bool { withURL { part.isIn($0) } }

  /// Compares its key with the separate parts of one; `identifier` is not empty.
  func matches(_ url: String, identifier: String?, variant: KeyVariant?, scope: CredentialScope?) -> Bool {
    isOf(url.utf8.span)
      && KeyDistinction.matches(header.extras?.distinction, identifier: identifier, variant: variant, scope: scope)
  }

  func hasKey(of other: CachedImage) -> Bool {
    other.withURL { isOf($0) }
      && KeyDistinction.matches(
        header.extras?.distinction, identifier: other.identifier, variant: other.variant, scope: other.scope)
  }

  // MARK: The answer

  /// The answer of its origin, put together anew for each call.
  package var response: StoredResponse {
    let kept = withContent(urlEnd..<headersEnd) { bytes in unsafe bytes.withUnsafeBufferPointer { unsafe [UInt8]($0) } }
    return StoredResponse(status: Int(header.status), kept: StoredHeaders(kept: kept), redirectTarget: redirectTarget)
  }

  /// The URL that it redirects to; nil for any other answer.
  package var redirectTarget: String? { header.extras?.redirectTarget }

  // MARK: The picture

  /// How many bytes the picture has, here or not.
  package var byteCount: Int { header.payload?.count ?? (hasBody ? Int(header.bodyCount) : Int(header.awayCount)) }

  /// Whether its bytes are here: those of a picture may have gone before its forms.
  package var hasBody: Bool { header.awayCount == 0 }

  private var body: ImageBody {
    guard hasBody else {
      return ImageBody(away: byteCount, facts: facts, checksum: checksum, description: description)
    }
    return ImageBody(payload, facts: facts, checksum: checksum, description: description)
  }

  /// Lends the picture's bytes for the duration of the call.
  package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    guard let payload = header.payload else { return try withContent(headersEnd..<contentCount, body) }
    return try payload.withBytes(body)
  }

  /// The picture's bytes; a copy where they lie behind the fields.
  package internal(set) var payload: Payload {
    get {
      header.payload ?? withBytes { Payload($0) }
    }
    set { header.payload = newValue }
  }

  /// Whether the bytes are in a memfd.
  var isShareable: Bool { header.payload?.isShareable ?? false }
}
