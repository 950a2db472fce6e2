import ImgdCache
import ImgdWire

/// The way of a fetch along redirects. Each hop is looked up as a URL of its own.
struct FetchRoute {
  /// The present hop.
  private(set) var mergeKey: MergeKey
  private var redirects = 0

  init(to mergeKey: MergeKey) { self.mergeKey = mergeKey }

  var url: CanonicalURL { mergeKey.key.url }

  /// The URL that redirects have led to; nil without any.
  var finalURL: String? { redirects > 0 ? url.text : nil }

  /// Goes on to where the present hop redirects a user's request.
  mutating func follow(_ redirect: Redirect, uid: UInt32, atMost limit: Int) throws(WireError) {
    guard redirects < limit else { throw .tooManyRedirects(limit: limit) }
    do throws(URLProblem) {
      let target = try CanonicalURL.parse(redirect.target)
      mergeKey = mergeKey.redirected(to: target, by: redirect, uid: uid)
      redirects += 1
    } catch { throw .badRedirect(from: url.host, error) }
  }
}
