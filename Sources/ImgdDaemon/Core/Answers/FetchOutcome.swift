import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// How far a fetch has come.
enum FetchState: String {
  case queued
  case running
  case done
  case failed
  case cancelled
}

/// The end of a fetch: a picture, or an error.
enum FetchOutcome {
  case image(DeliveredImage)
  /// The client has the picture already.
  case notModified(NotModified)
  case failure(FetchFailure)

  var state: FetchState {
    switch self {
    case .image, .notModified: .done
    case .failure(let failure): failure.error.code == .cancelled ? .cancelled : .failed
    }
  }

  /// Where it came from; nil for a failure.
  var source: DeliveredImage.Source? {
    switch self {
    case .image(let delivered): delivered.source
    case .notModified(let answer): answer.source
    case .failure: nil
    }
  }

  /// The same with the note, if it is stale, that its origin could not be reached.
  var saidToBeOffline: FetchOutcome {
    switch self {
    case .image(var delivered) where delivered.isStale:
      delivered.isOffline = true
      return .image(delivered)
    case .notModified(var answer) where answer.isStale:
      answer.isOffline = true
      return .notModified(answer)
    default: return self
    }
  }

  /// Whether it is a picture whose bytes have gone.
  var lacksBytes: Bool { if case .image(let delivered) = self { !delivered.image.hasBody } else { false } }

  var error: WireError? { if case .failure(let failure) = self { failure.error } else { nil } }

  var isFailure: Bool { error != nil }

  /// The bytes that it would hold if it were kept.
  var cost: Int {
    switch self {
    case .image(let delivered): delivered.image.cost
    case .notModified(let answer): answer.cost
    case .failure(let failure): failure.cost
    }
  }
}

/// An image on its way to a client, and where it came from.
struct DeliveredImage {
  enum Source: String {
    case memory
    case disk
    case fleet
    case revalidated
    case network
    /// The client has handed it in.
    case client
  }

  var image: CachedImage
  var source: Source
  var isCoalesced = false
  /// The seconds since it ended to be fresh; nil while it is.
  var staleFor: Int?
  /// Whether the origin was to confirm a stored picture, and has not.
  var isOffered = false
  /// Whether it is shown stale while no route leads to its origin.
  var isOffline = false
  /// The URL that redirects have led to; nil without any.
  var finalURL: String?
  /// The form that is shown in its place, since its own bytes have gone.
  var form: Form?
  /// The form of which the one that is wanted can be made, since the picture's own bytes have gone.
  var sourceForm: SourceForm?
  /// Whether it is already in the form that the fetch wants.
  var isMade = false
  /// The age and the frames of the picture that it was made of.
  var originalAge: ShownAge?
  var originalFrames: Int32?
  /// Stands for the picture until it can be shown, if the fetch wants one.
  var placeholder: Placeholder?

  var isStale: Bool { staleFor != nil }

  struct Form {
    let image: CachedImage
    /// Nil for one that has only just been made.
    let source: Source?
  }

  /// An object, since few answers have one.
  final class SourceForm {
    let image: CachedImage
    /// What is made of it.
    let rendition: Rendition
    /// How the form that is wanted of the picture is written in keys.
    let wanted: String

    init(_ image: CachedImage, making rendition: Rendition, for wanted: String) {
      self.image = image
      self.rendition = rendition
      self.wanted = wanted
    }
  }

  /// What is shown: its form in its place, with what the answer says about the picture itself.
  func shown(at now: Instant) -> DeliveredImage {
    guard let form else { return self }
    var shown = self
    (shown.form, shown.sourceForm) = (nil, nil)
    shown.image = form.image
    if source == .memory || source == .disk, let from = form.source { shown.source = from }
    shown.isMade = true
    shown.originalFrames = image.facts.frames
    shown.originalAge = ShownAge(image, at: now)
    return shown
  }

  func shown(as form: Form, at now: Instant) -> DeliveredImage {
    var delivered = self
    delivered.form = form
    return delivered.shown(at: now)
  }

  /// A copy that says how stale it is at this moment.
  func asShown(at now: Instant) -> DeliveredImage {
    var shown = self
    shown.staleFor = image.staleFor(at: now)
    return shown
  }
}

extension DeliveredImage {
  /// A hit in memory; nil if it should be described and has not been yet.
  init?(ready image: CachedImage, finalURL: String? = nil, describing: Bool) {
    self.init(image: image, source: .memory, finalURL: finalURL)
    guard describing else { return }
    guard let known = PictureDescription(packed: image.description) else { return nil }
    placeholder = .description(known)
  }
}

/// How old a picture is, and for how long it stays fresh, in seconds.
struct ShownAge {
  let age: Int
  let freshFor: Int

  init(age: Int, freshFor: Int) {
    self.age = age
    self.freshFor = freshFor
  }

  init(_ image: CachedImage, at now: Instant) { self.init(age: image.age(at: now), freshFor: image.freshFor(at: now)) }
}

/// An error, and the part of the origin's answer that `http:true` shows.
struct FetchFailure {
  var error: WireError
  var head: ResponseHead?
  /// Whether the origin has failed, so that a stale picture may stand in for its answer.
  var isOfOrigin = false

  /// Roughly the bytes that it holds while it is kept.
  var cost: Int {
    let details = error.details.reduce(0) { $0 + 96 + $1.name.utf8.count }
    let headers = head?.headers.reduce(128) { $0 + 96 + $1.name.utf8.count + $1.value.utf8.count }
    return error.message.utf8.count + details + (headers ?? 0)
  }
}

extension FetchFailure {
  /// No route leads to a host, and the fetch does not wait for one.
  static func offline(_ host: String) -> FetchFailure {
    FetchFailure(
      error: WireError(
        .offline, "this machine is offline: no route leads to \(host), and the request does not wait for one",
        details: ["host": .string(host)]), isOfOrigin: true)
  }
}

extension ResponseHead {
  /// The head as far as it is shown to clients other than the one that asked, within `most` bytes.
  func fitting(within most: Int) -> ResponseHead {
    let kept = StoredHeaders.fitting(pairs, within: most)
    return ResponseHead(status: status, headers: kept.map { HeaderField($0.name, $0.value) })
  }
}

// The only door from a failed transfer to the wire.

extension FetchFailure {
  init(_ failure: TransferFailure) {
    self.init(
      error: WireError(failure.kind.code, failure.message, details: failure.details, retryable: failure.isRetryable),
      head: failure.head?.fitting(within: StoredHeaders.mostKept), isOfOrigin: failure.isOfOrigin)
  }
}

extension FetchFailure {
  /// A failure with which an origin has answered before.
  init(remembered answer: CachedImage, at now: Instant) {
    let response = answer.response
    let head = ResponseHead(
      status: response.status, headers: response.headers.list.map { HeaderField($0.name, $0.value) })
    self.init(TransferFailure.answer(head, of: answer.url.host))
    error = error.asCached(age: answer.age(at: now), isStale: !answer.isFresh(at: now))
  }
}

extension TransferFailure.Kind {
  var code: ReplyCode {
    switch self {
    case .badURL: .badURL
    case .blockedScheme: .blockedScheme
    case .blockedAddress: .blockedAddress
    case .dns: .dns
    // To a client both mean that no answer comes from this origin, but only the first may pass with
    // time.
    case .connect, .badAnswer: .connect
    case .tls: .tls
    case .timeout: .timeout
    case .httpStatus: .httpStatus
    case .tooLarge: .tooLarge
    case .emptyBody: .emptyBody
    case .truncated: .truncated
    case .cancelled: .cancelled
    case .unavailable: .unavailable
    case .internal: .internal
    }
  }
}

extension TransferFailure {
  /// Whether a retry makes sense; nil leaves that to the code, and for a status it depends on which
  /// one.
  fileprivate var isRetryable: Bool? {
    switch kind {
    case .httpStatus: Self.isTransient(status: status ?? 0)
    case .badAnswer: false
    default: nil
    }
  }

  /// Whether a stale picture may stand in for the answer (RFC 5861, 4): the origin could not be
  /// asked, or is in trouble itself.
  fileprivate var isOfOrigin: Bool {
    switch kind {
    case .dns, .connect, .tls, .timeout, .truncated, .emptyBody, .badAnswer: true
    case .httpStatus: (status ?? 0) >= 500 && Self.isTransient(status: status ?? 0)
    default: false
    }
  }

  fileprivate var details: [JSONValue.Member] {
    var details: [JSONValue.Member] = []
    if let status { details.append(.init("status", .integer(Int64(status)))) }
    if case .timeout(let phase) = kind { details.append(.init("phase", .string(phase.name))) }
    if let timeLimit { details.append(.init("limit_ms", .integer(timeLimit.milliseconds))) }
    if let address { details.append(.init("address", .string(address))) }
    if let limit { details.append(.init("limit", .integer(Int64(limit)))) }
    if let expected { details.append(.init("expected", .integer(Int64(expected)))) }
    if let received { details.append(.init("received", .integer(Int64(received)))) }
    if let retryAfter { details.append(.init("retry_after_ms", .integer(retryAfter.milliseconds))) }
    if retries > 0 { details.append(.init("retries", .integer(Int64(retries)))) }
    return details
  }
}

/// A stored answer without its picture, for a client that has that picture already.
///
/// It holds what a 304 from the origin would have said, and not the picture: kept for `wait`, it costs next to nothing.
struct NotModified {
  /// The header fields of a 304 (RFC 9110, 15.4.5), and the validator that a client may have to go by in place
  /// of a tag.
  private static let shown: Set = [
    "cache-control", "content-location", "date", "etag", "expires", "last-modified", "vary",
  ]

  let source: DeliveredImage.Source
  /// The URL that redirects have led to; nil without any.
  var finalURL: String?
  let isStale: Bool
  /// Whether it is shown stale while no route leads to its origin.
  var isOffline = false
  let headers: StoredHeaders
  var isCoalesced = false
  private let age: ShownAge
  private let judgedAt: Instant

  /// Nil where the picture has to be shown.
  init?(_ stored: DeliveredImage, under condition: ClientCondition?, at now: Instant) {
    guard let condition, condition.covers(stored.image.response, receivedAt: stored.image.storedAtWall) else {
      return nil
    }
    self.init(stored, at: now)
  }

  init(_ stored: DeliveredImage, at now: Instant) {
    source = stored.source
    isStale = stored.isStale
    headers = StoredHeaders(stored.image.response.headers.list.filter { Self.shown.contains($0.name) })
    age = ShownAge(stored.image, at: now)
    judgedAt = now
  }

  /// How old the stored picture is by now.
  func age(at now: Instant) -> ShownAge {
    let passed = Int((now - judgedAt).components.seconds)
    return ShownAge(age: age.age + passed, freshFor: max(age.freshFor - passed, 0))
  }

  /// Roughly the bytes that it holds while it is kept.
  var cost: Int {
    headers.list.reduce(256 + (finalURL?.utf8.count ?? 0)) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

extension NotModified {
  /// Writes the terminal line of a fetch whose client has the picture: what is known of it without the picture,
  /// and always the answer in terms of HTTP.
  func write(to recipient: Recipient, at now: Instant) {
    let shown = age(at: now)
    let numbers = FetchLine.Numbers(
      receipt: recipient.receipt, age: shown.age, freshFor: shown.freshFor,
      elapsedNanoseconds: (now - recipient.startedAt).nanoseconds)
    let (id, facts, ending) = (
      recipient.id.written, facts(url: recipient.request.url), FetchLine.ending(furtherFields)
    )
    recipient.client.write(numbers, id: id.span, facts: facts.span, ending: ending.span)
  }

  /// The parts of the line for a fresh picture in memory, with the tag by which clients may know it.
  func confirmation(of image: CachedImage) -> ImageConfirmation {
    ImageConfirmation(
      of: image.response, facts: facts(url: image.url.text), ending: FetchLine.ending(furtherFields))
  }

  /// `url` is as the client wrote it.
  private func facts(url: String) -> [UInt8] {
    var line = JSONWriter()
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", isCoalesced)
    line.field("not_modified", true)
    if let finalURL { line.field("final_url", finalURL) }
    return line.bytes
  }

  private var furtherFields: [UInt8] {
    var line = JSONWriter()
    if isStale { line.field("stale", true) }
    if isOffline { line.field("offline", true) }
    line.http(status: 304, headers: headers.list)
    return line.bytes
  }
}
