internal import ImgdConnection

/// How an answer came about, for `Cache-Status` (RFC 9211): the daemon and the gateway are one cache.
struct CacheStatus: Equatable {
  static let field = "Cache-Status"
  private static let cache = "imgd"

  let text: String

  private init(_ parameters: [String]) { text = ([Self.cache] + parameters).joined(separator: "; ") }

  /// The status of a picture that the daemon gives.
  init(of reply: Reply) {
    let isOffered = reply.flag("offered") == true
    var parameters: [String]
    switch reply.text("source") {
    case "network": parameters = ["fwd=\(isOffered ? "stale" : "miss")", "fwd-status=200"]
    case "revalidated": parameters = ["fwd=stale", "fwd-status=304"]
    // It stands in for an origin that has failed.
    case _ where isOffered: parameters = ["fwd=stale"]
    default: parameters = ["hit"]
    }
    let (isStale, staleFor) = (reply.flag("stale") == true, PictureFacts.sane(reply.number("stale_for")))
    parameters.append("ttl=\(isStale ? -staleFor : PictureFacts.sane(reply.number("fresh_for")))")
    if parameters[0] == "fwd=miss", reply.objects("fds")?.first?.flag("keep") != false { parameters.append("stored") }
    if reply.flag("coalesced") == true { parameters.append("collapsed") }
    self.init(parameters)
  }

  /// The status of a picture that the gateway gives again.
  init(ofHeldFor seconds: Int) { self.init(["hit", "ttl=\(seconds)"]) }

  /// The status of a failure; without `details`, one of which no more is known.
  init(ofFailure code: String, _ details: Reply? = nil) {
    var parameters: [String] = []
    if details?.flag("cached") == true {
      parameters = ["hit"]
    } else if let status = details?.number("status") {
      parameters = ["fwd=\(details?.flag("offered") == true ? "stale" : "miss")", "fwd-status=\(status)"]
    }
    self.init(parameters + ["detail=\(code)"])
  }
}
