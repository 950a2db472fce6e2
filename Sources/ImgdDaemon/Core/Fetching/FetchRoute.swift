import ImgdCache
import ImgdWire

/// The way of a fetch along redirects. Each hop is looked up as a URL of its own.
struct FetchRoute {
  /// The present hop.
  private(set) var mergeKey: MergeKey
  /// What the origin is asked for: the URL of the key, or one that has more parameters than that.
  private(set) var sentURL: CanonicalURL
  private var redirects = 0

  init(to mergeKey: MergeKey, at url: CanonicalURL) {
    self.mergeKey = mergeKey
    sentURL = url
  }

  var url: CanonicalURL { mergeKey.key.url }

  /// The URL that redirects have led to; nil without any.
  var finalURL: String? { redirects > 0 ? url.text : nil }

  /// Goes on to where the present hop redirects a user's request.
  mutating func follow(
    _ redirect: Redirect, uid: UInt32, atMost limit: Int, keyURL: (CanonicalURL) -> CanonicalURL
  ) throws(WireError) {
    guard redirects < limit else { throw .tooManyRedirects(limit: limit) }
    do throws(URLProblem) {
      sentURL = try CanonicalURL.parse(redirect.target)
      mergeKey = mergeKey.redirected(to: keyURL(sentURL), by: redirect, uid: uid)
      redirects += 1
    } catch { throw .badRedirect(from: url.host, error) }
  }
}
