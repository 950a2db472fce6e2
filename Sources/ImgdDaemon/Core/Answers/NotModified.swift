import ImgdCache
import ImgdSystem

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
  let headers: StoredHeaders
  var isCoalesced = false
  private let age: ShownAge
  private let judgedAt: Instant

  /// Nil where the picture has to be shown.
  init?(_ stored: DeliveredImage, under condition: ClientCondition?, at now: Instant) {
    let image = stored.image
    let response = image.response
    guard let condition, condition.covers(response, receivedAt: image.storedAtWall) else { return nil }
    source = stored.source
    isStale = stored.isStale
    headers = StoredHeaders(response.headers.list.filter { Self.shown.contains($0.name) })
    age = ShownAge(image, at: now)
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
