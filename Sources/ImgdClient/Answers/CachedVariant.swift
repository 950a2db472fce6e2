internal import ImgdConnection

/// One of several answers to a URL, each for other requests, as `Imgd.query` lists them.
public struct CachedVariant: Sendable {
  /// The request's headers that its origin looked at, in lower case; the value is nil where it had none.
  public let vary: [String: String?]
  /// The time at which it was stored, in the form of RFC 3339.
  public let stored: String
  /// The tiers that have it: `memory`, `disk`.
  public let tiers: [String]

  init(_ reply: Reply) {
    let headers = reply.object("vary")
    let pairs = (headers?.fields ?? []).map { ($0, headers?.text($0)) }
    vary = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    stored = reply.text("stored") ?? ""
    tiers = reply.texts("tiers") ?? []
  }
}
