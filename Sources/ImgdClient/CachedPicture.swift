internal import ImgdConnection

/// An entry of the cache, as `Imgd.query` finds it.
public struct CachedPicture: Sendable {
  /// The tier that has it: `memory`, or `disk` if only the disk does.
  public let tier: String
  /// The format: `jpeg`, for example.
  public let format: String
  /// The size in pixels.
  public let width: Int
  public let height: Int
  /// The size in bytes.
  public let byteCount: Int
  /// Whether these bytes are kept; if not, what was made of the picture is, and it is downloaded anew when it is wanted.
  public let hasBytes: Bool
  /// The time since its origin sent or confirmed it.
  public let age: Duration?
  /// The time for which it still counts as fresh.
  public let freshFor: Duration?
  /// The labels with which it was fetched, and those that its origin gives it.
  public let tags: [String]
  /// The groups that its origin puts it into (`Cache-Groups`).
  public let groups: [String]
  /// The answers to the URL that depend on headers of the request, the newest first; empty without any.
  public let variants: [CachedVariant]
  /// What can stand for the picture, if that was asked for.
  public let placeholder: Placeholder?
  /// The whole answer as JSON text.
  public let json: String

  /// Nil where there is no entry.
  init?(_ reply: Reply) {
    guard let tier = reply.text("tier"), tier != "none" else { return nil }
    self.tier = tier
    format = reply.text("format") ?? ""
    width = reply.number("width") ?? 0
    height = reply.number("height") ?? 0
    byteCount = reply.number("bytes") ?? 0
    hasBytes = reply.flag("body") ?? true
    age = reply.number("age").map { .seconds($0) }
    freshFor = reply.number("fresh_for").map { .seconds($0) }
    tags = reply.texts("tags") ?? []
    groups = reply.texts("groups") ?? []
    variants = (reply.objects("variants") ?? []).map { CachedVariant($0) }
    placeholder = Placeholder(reply)
    json = reply.json
  }
}

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
