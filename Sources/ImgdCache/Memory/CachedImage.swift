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
    key: CacheKey, body: ImageBody, answer: ImageAnswer, tags: [String] = [], serial: UInt64, isPurged: Bool = false,
    checked: UInt64 = 0, stored moment: StoredMoment
  ) -> CachedImage {
    let (payload, response) = (body.payload, answer.response)
    let isInside = !payload.isShareable && payload.count <= mostInside
    let storedAt = max(moment.instant, StoredMoment.earliest)
    let fields = ImageFields(
      extras: ImageExtras(
        distinction: key.distinction, vary: answer.vary, tags: tags, redirectTarget: response.redirectTarget,
        description: body.description), freshUntil: storedAt, checked: checked, lastAccess: storedAt,
      storedAt: storedAt, freshness: answer.freshness, facts: body.facts, payload: isInside ? nil : payload,
      digest: key.digest ?? KeyDigest(high: 0, low: 0), checksum: body.checksum, serial: serial,
      storedAtWall: moment.wall, urlCount: UInt16(key.url.text.utf8.count),
      headerCount: UInt16(response.headers.kept.count), bodyCount: isInside ? UInt16(payload.count) : 0,
      status: UInt16(clamping: response.status), isTimeDoubtful: moment.isDoubtful, isPixels: body.isPixels,
      isFromPublicAddress: answer.isFromPublicAddress, isPurged: isPurged)
    let image = make(fields)
    image.fill(key.url, response.headers, isInside ? payload : nil)
    let end = image.expiresAt
    image.header.freshUntil = answer.freshness.needsConfirmation ? min(storedAt, end) : end
    return image
  }

  private static func make(_ fields: ImageFields) -> CachedImage {
    let count = Int(fields.urlCount) + Int(fields.headerCount) + Int(fields.bodyCount)
    let buffer = create(minimumCapacity: count) { _ in fields }
    // `create` makes an object of the class that it is called on.
    return unsafe unsafeDowncast(buffer, to: CachedImage.self)
  }

  /// The same picture after its origin has confirmed it; its own freshness begins anew.
  ///
  /// Under a key other than its own it has no file.
  package func renewed(
    under renewedKey: CacheKey? = nil, answer: ImageAnswer, tags more: [String] = [], serial: UInt64,
    isPurged: Bool = false, checked: UInt64 = 0, stored moment: StoredMoment
  ) -> CachedImage {
    let key = key
    var answer = answer
    answer.isFromPublicAddress = isFromPublicAddress
    let renewed = Self.make(
      key: renewedKey ?? key, body: ImageBody(payload, facts: facts, checksum: checksum, description: description),
      answer: answer, tags: EntryTags.union(tags, more), serial: serial, isPurged: isPurged, checked: checked,
      stored: moment)
    if renewed.key == key { renewed.file = file }
    return renewed
  }

  /// What was made of the picture's bytes: another picture under another key, with the answer, the age and
  /// the tags of this one. Nobody asks for the checksum of pixels.
  ///
  /// `checked` is the last purge that this picture had been compared with when the making began.
  package func derived(key: CacheKey, body: ImageBody, checked: UInt64) -> CachedImage {
    Self.make(
      key: key, body: body, answer: ImageAnswer(response, freshness: freshness, vary: vary.withoutPlace), tags: tags,
      serial: serial, isPurged: isPurged, checked: checked,
      stored: StoredMoment(storedAt, wall: storedAtWall, isDoubtful: header.isTimeDoubtful))
  }

  // MARK: What it is

  package var facts: ImageFacts { header.facts }
  /// False for an answer that brought no picture: a redirect, or a failure.
  package var isPicture: Bool { header.facts != .none }
  package var freshness: Freshness { header.freshness }
  /// The headers of the request on which the answer depends.
  package var vary: VaryOutcome { header.extras?.vary ?? .none }
  package var tags: [String] { header.extras?.tags ?? [] }
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
    set { header.file = newValue }
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

  private func changeExtras(_ change: (ImageExtras) -> Void) {
    let extras = header.extras ?? ImageExtras()
    change(extras)
    header.extras = extras
  }

  /// The number of its file in the index, for an image that an earlier process has left; 0 without a file.
  var formerFile: UInt32 {
    get { header.formerFile }
    set { header.formerFile = newValue }
  }

  /// The part of an answer that is the same for everybody, encoded by the daemon.
  package internal(set) var replyPieces: [UInt8]? {
    get { header.replyPieces }
    set { header.replyPieces = newValue }
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

  /// Its place in its tier; nil outside.
  var place: Int? {
    get { header.place < 0 ? nil : Int(header.place) }
    set { header.place = newValue.map { Int32($0) } ?? -1 }
  }

  /// The bytes that it really holds.
  package var cost: Int {
    Self.bookkeeping + Int(header.urlCount) + Int(header.headerCount) + Int(header.bodyCount)
      + (header.payload?.cost ?? 0) + (header.extras?.cost ?? 0) + (header.replyPieces?.count ?? 0) + (file?.cost ?? 0)
  }

  /// The bytes of an entry that are not counted one by one (measured).
  static let bookkeeping = 296
}
