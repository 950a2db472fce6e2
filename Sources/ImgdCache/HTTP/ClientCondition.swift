internal import ImgdText

/// The condition by which a client says which version of a picture it has, as far as a cache may
/// evaluate it (RFC 9111, 4.3.2).
///
/// If-None-Match comes first: beside it If-Modified-Since is ignored, even if the tags cannot be read
/// (RFC 9110, 13.2.2). If-Match and If-Unmodified-Since are for the origin alone.
package enum ClientCondition: Sendable, Equatable {
  /// The client has some version, no matter which.
  case anyVersion
  /// The client has the versions in these lists of entity tags.
  case versions([String])
  /// The client has the version of this time, in seconds since 1970.
  case version(of: Int64)

  /// Nil for a request without such a condition, or with one that has to be ignored: an invalid date, or
  /// more than one. The names of the request's headers are in lower case.
  package init?(_ sent: HeaderList, now: Int64) {
    let tags = sent.filter { $0.name == "if-none-match" }.map(\.value)
    guard tags.isEmpty else {
      let isAny = tags.count == 1 && normalisedFieldValue(tags[0]) == "*"
      self = isAny ? .anyVersion : .versions(tags)
      return
    }
    let dates = sent.filter { $0.name == "if-modified-since" }
    guard dates.count == 1, let time = HTTPDate.parse(dates[0].value, now: now) else { return nil }
    self = .version(of: time)
  }

  /// Whether the client has the stored version: then it is told so instead of getting the picture.
  ///
  /// Only a successful answer has a version. `receivedAt` is wall time in seconds.
  package func covers(_ response: StoredResponse, receivedAt: Int64) -> Bool {
    guard 200..<300 ~= response.status else { return false }
    switch self {
    case .anyVersion: return true
    case .versions(let lists):
      guard let tag = response.entityTag.flatMap(EntityTag.init) else { return false }
      let findings = lists.map(tag.isIn)
      return findings.contains(true) && !findings.contains(nil)
    case .version(let time):
      // Without the time of its last change, a time by which it had certainly happened: when the answer was sent, or
      // failing that, received.
      for name in ["last-modified", "date"] {
        let date = response.headers.value(of: name).flatMap { HTTPDate.parse($0, now: receivedAt) }
        if let date { return date <= time }
      }
      return receivedAt <= time
    }
  }
}
