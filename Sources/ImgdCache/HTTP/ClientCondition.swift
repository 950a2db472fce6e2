internal import ImgdText

/// The condition under which a client asks for a picture that it has in some version, as far as a cache may
/// evaluate it (RFC 9111, 4.3.2).
///
/// If-None-Match comes first: beside it If-Modified-Since does not count, even where its tags cannot be read
/// (RFC 9110, 13.2.2). If-Match and If-Unmodified-Since are for the origin alone.
package enum ClientCondition: Sendable, Equatable {
  /// The client has some version, whichever.
  case anyVersion
  /// It has the versions in these lists of entity tags.
  case versions([String])
  /// It has the version of this time, in seconds since 1970.
  case version(of: Int64)

  /// Nil for a request without such a condition, or with one that has to be ignored: a date that is none, or
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

  /// Whether the version that is stored is one that the client has: then a word takes the place of the picture.
  ///
  /// Only what answers a request with success has a version. `receivedAt` is wall time in seconds.
  package func covers(_ response: StoredResponse, receivedAt: Int64) -> Bool {
    guard 200..<300 ~= response.status else { return false }
    switch self {
    case .anyVersion: return true
    case .versions(let lists):
      guard let tag = response.entityTag.flatMap(EntityTag.init) else { return false }
      let findings = lists.map(tag.isIn)
      return findings.contains(true) && !findings.contains(nil)
    case .version(let time): return response.lastChange(receivedAt: receivedAt) <= time
    }
  }
}

extension StoredResponse {
  /// The time of the last change, or one at which it had certainly come about: when the answer was sent, or
  /// else received.
  fileprivate func lastChange(receivedAt: Int64) -> Int64 {
    for name in ["last-modified", "date"] {
      if let time = headers.value(of: name).flatMap({ HTTPDate.parse($0, now: receivedAt) }) {
        return time
      }
    }
    return receivedAt
  }
}
