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
  }

  var image: CachedImage
  var source: Source
  var isCoalesced = false
  var isStale = false
  /// The URL that redirects have led to; nil without any.
  var finalURL: String?
  /// Whether it is already in the form that the fetch wants.
  var isMade = false
  /// The age of the picture that it was made of.
  var originalAge: ShownAge?
  /// Stands for the picture until it can be shown, if the fetch wants one.
  var placeholder: Placeholder?

  /// A copy that says whether it is stale at this moment.
  func asShown(at now: Instant) -> DeliveredImage {
    var shown = self
    shown.isStale = !image.isFresh(at: now)
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

extension ResponseHead {
  /// The head as far as it is shown to clients other than the one that asked, within `most` bytes.
  func fitting(within most: Int) -> ResponseHead {
    let kept = StoredHeaders.fitting(pairs, within: most)
    return ResponseHead(status: status, headers: kept.map { HeaderField($0.name, $0.value) })
  }
}
