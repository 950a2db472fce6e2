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
