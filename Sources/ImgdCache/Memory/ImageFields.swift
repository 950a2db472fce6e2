package import ImgdSystem
internal import ImgdText

/// The fields of an image other than its URL, its header fields and its bytes, which lie behind them.
///
/// There may be a million of them, so small fields stand together, where they share words, and those that
/// few images have are apart. The fields that a hit looks at come first: they lie in two lines of the processor's cache.
package struct ImageFields {
  var answer = KeptAnswer()
  var extras: ImageExtras?
  /// The moment until which its age lets it be shown without asking its origin.
  var freshUntil: Instant
  var checked: UInt64
  var lastAccess: Instant
  let storedAt: Instant
  /// The term in which its file was last lent (`DiskLending`); 0 if it was not lent yet.
  var lentTerm = 0
  /// Its place in its tier; negative outside.
  var place: Int32 = -1
  /// Which of its tier's tallies counts its uses (`UseTallies`); 0 until it is used.
  var tallyMark: UInt32 = 0
  var formerFile: UInt32 = 0
  /// The user for whom it counts (`EntryOwner`).
  var owner: UInt32
  /// How many bytes the picture has that are not here; zero when they are.
  let awayCount: UInt32

  /// How many bytes lie behind the fields: those of the URL, of the header fields, and of the picture.
  let urlCount: UInt16
  let headerCount: UInt16
  let bodyCount: UInt16

  let status: UInt16
  /// Whether it is unknown when it was stored.
  let isTimeDoubtful: Bool
  let isPixels: Bool
  let isFromPublicAddress: Bool
  var isPurged: Bool
  var isLent = false
  var isStale = false
  /// Whether its bytes go before anything else in its tier.
  var isSource = false
  let freshness: Freshness

  var file: StoredFile?
  let facts: ImageFacts
  /// Its bytes if they do not lie behind the fields, since they are many or in a memfd.
  var payload: Payload?
  /// The digest of its key; meaningless if the key has a scope.
  let digest: KeyDigest
  let checksum: BodyChecksum
  let serial: UInt64
  let storedAtWall: Int64
}

/// The parts that few images have: those of the key other than the URL, tags, a description, the headers that
/// the answer depends on, the target of a redirect.
final class ImageExtras {
  let distinction: KeyDistinction?
  let vary: VaryOutcome
  var tags: [String]
  let redirectTarget: String?
  var description: [UInt8]
  var lentEnding: [UInt8]?
  var encodedResponse: [UInt8]?
  var confirmation: ImageConfirmation?
  var forms: [MadeForm] = []
  /// The place of a form under its picture; nil for any other image.
  var formPlace: VariantPlace?

  init() { (distinction, vary, tags, redirectTarget, description) = (nil, .none, [], nil, []) }

  /// Nil when an image has none of these parts.
  init?(distinction: KeyDistinction?, vary: VaryOutcome, tags: [String], redirectTarget: String?, description: [UInt8])
  {
    guard distinction != nil || vary != .none || !tags.isEmpty || redirectTarget != nil || !description.isEmpty else {
      return nil
    }
    self.distinction = distinction
    self.vary = vary
    self.tags = tags
    self.redirectTarget = redirectTarget
    self.description = description
  }

  var cost: Int {
    Self.bookkeeping + (distinction?.identifier?.utf8.count ?? 0) + vary.cost + (redirectTarget?.utf8.count ?? 0)
      + description.count + (lentEnding?.count ?? 0) + (encodedResponse?.count ?? 0) + (confirmation?.cost ?? 0)
      + forms.reduce(0) { $0 + MadeForm.bookkeeping + $1.form.utf8.count } + tags.reduce(0) { $0 + $1.utf8.count + 16 }
  }

  /// A flat charge for the object and for those that it refers to.
  private static let bookkeeping = 112
}

/// What the daemon answers to a client that has a picture already, encoded.
package struct ImageConfirmation {
  /// The picture's own entity tag, without its quotes; empty if there is none.
  private let tag: [UInt8]
  package let facts: [UInt8]
  package let ending: [UInt8]

  package init(of response: StoredResponse, facts: [UInt8], ending: [UInt8]) {
    // Only a successful answer has a version.
    let own = 200..<300 ~= response.status ? response.entityTag.flatMap(EntityTag.init) : nil
    tag = Array(own?.opaque ?? [])
    self.facts = facts
    self.ending = ending
  }

  /// Whether a tag, without its quotes, is the picture's.
  package func isAbout(_ tag: Span<UInt8>) -> Bool { !tag.isEmpty && sameBytes(self.tag.span, tag) }

  var cost: Int { 3 * 48 + tag.count + facts.count + ending.count }
}

/// Where the tier has a form of a picture, as long as it has it.
struct MadeForm {
  /// So many are known of a picture.
  static let most = 4
  static let bookkeeping = 72

  let form: String
  let place: Int
  /// The digest of its key: another image may have got the place.
  let digest: KeyDigest
}

/// The facts of a picture that are known without decoding it; the cache keeps them without using them.
package struct ImageFacts: Sendable, Equatable {
  /// Numbers to which only the daemon gives a meaning.
  package let format: UInt8
  package let orientation: UInt8
  package let width: Int32
  package let height: Int32
  package let frames: Int32

  /// The facts of an answer without a picture.
  package static let none = ImageFacts(format: .max, width: 0, height: 0, frames: 0, orientation: 0)

  package init(format: UInt8, width: Int, height: Int, frames: Int, orientation: Int) {
    self.format = format
    self.orientation = UInt8(clamping: orientation)
    self.width = Int32(clamping: width)
    self.height = Int32(clamping: height)
    self.frames = Int32(clamping: frames)
  }
}

/// The bytes of an image, and what they show.
package struct ImageBody {
  package let payload: Payload
  package let facts: ImageFacts
  package let checksum: BodyChecksum
  /// A few bytes that stand for the picture, as the daemon has encoded them; empty if there are none.
  package let description: [UInt8]
  /// Whether the bytes are those of a decoded picture.
  package let isPixels: Bool
  /// How many bytes the picture has if they are not here.
  let awayCount: UInt32

  /// Computes the checksum over all the bytes if none is given.
  package init(
    _ payload: Payload, facts: ImageFacts, checksum: BodyChecksum? = nil, description: [UInt8] = [],
    isPixels: Bool = false
  ) {
    self.payload = payload
    self.facts = facts
    self.checksum = checksum ?? BodyChecksum(of: payload)
    self.description = description
    self.isPixels = isPixels
    awayCount = 0
  }

  /// The body of a picture whose bytes are not here.
  init(away count: Int, facts: ImageFacts, checksum: BodyChecksum, description: [UInt8]) {
    payload = Payload([])
    self.facts = facts
    self.checksum = checksum
    self.description = description
    isPixels = false
    awayCount = UInt32(clamping: count)
  }
}

/// The answer of an origin that an image came with, as `http` shows it.
package struct StoredResponse: Sendable {
  package let status: Int
  package let headers: StoredHeaders
  /// The URL that it redirects to, absolute; nil for any other answer.
  package let redirectTarget: String?

  package init(status: Int, headers: HeaderList, redirectTarget: String? = nil) {
    self.init(status: status, kept: StoredHeaders(StoredHeaders.fitting(headers)), redirectTarget: redirectTarget)
  }

  /// An answer whose header fields have been cut to `mostKept` before.
  init(status: Int, kept headers: StoredHeaders, redirectTarget: String?) {
    self.status = status
    self.headers = headers
    self.redirectTarget = redirectTarget
  }

  // The validators with which the origin is asked whether the image is still right.

  package var entityTag: String? { headers.value(of: "etag") }
  package var lastModified: String? { headers.value(of: "last-modified") }

  package var canBeConfirmed: Bool { entityTag != nil || lastModified != nil }
}

/// The answer that an image is, or came with, and how long and to whom it may be shown.
package struct ImageAnswer {
  package let response: StoredResponse
  package let freshness: Freshness
  /// The headers of the request on which it depends.
  package let vary: VaryOutcome
  /// Whether it is a redirect that a public address has sent.
  package var isFromPublicAddress: Bool

  package init(
    _ response: StoredResponse, freshness: Freshness, vary: VaryOutcome = .none, isFromPublicAddress: Bool = false
  ) {
    self.response = response
    self.freshness = freshness
    self.vary = vary
    self.isFromPublicAddress = isFromPublicAddress
  }
}

/// The moment at which something was stored, on this process's own clock, even if an earlier process stored it.
///
/// Only the wall clock survives a restart, and people set it. If it ran on, something may have been
/// stored before this process's clock began. If it was set back, a time of storing lies in the
/// future, and it is unknown how long ago that was: it counts as now, so that no age is negative,
/// and as doubtful, so that nothing is shown as fresh because of it.
package struct StoredMoment: Sendable, Equatable {
  /// How many seconds wall clocks may differ without anybody having set one.
  static let tolerance: Int64 = 5
  /// The longest span of time that is told apart from longer ones, some seventy years: longer than anything
  /// is fresh or may be shown stale, and short enough to calculate with.
  static let longest: Int64 = 1 << 61
  static let earliest = Instant(nanoseconds: -longest)

  package let instant: Instant
  /// Wall time in seconds since 1970, to be shown.
  package let wall: Int64
  package let isDoubtful: Bool

  /// A moment of this process's life.
  package init(_ instant: Instant, wall: Int64) { self.init(instant, wall: wall, isDoubtful: false) }

  init(_ instant: Instant, wall: Int64, isDoubtful: Bool) {
    self.instant = instant
    self.wall = wall
    self.isDoubtful = isDoubtful
  }

  /// The moment `age` ago, for something of which only the age is known.
  package init(age: Duration, now: Instant, nowWall: Int64) {
    let age = min(max(age, .zero), .nanoseconds(Self.longest))
    self.init(now + (.zero - age), wall: nowWall - age.components.seconds)
  }

  /// Takes wall times in seconds since 1970, however absurd they are.
  package init(storedWall: Int64, nowWall: Int64, now: Instant) {
    let (elapsed, overflow) = nowWall.subtractingReportingOverflow(storedWall)
    wall = storedWall
    isDoubtful = overflow ? storedWall > nowWall : elapsed < -Self.tolerance
    let seconds: Int64 = overflow ? .max : max(elapsed, 0)
    instant = isDoubtful ? now : max(now + .seconds(-seconds), Self.earliest)
  }
}
