/// The rule by which an answer to a request with credentials may be shown to everybody (RFC 9111, 3.5).
///
/// What was fetched with `Authorization` may be shown to others if its origin says so with `public`, `s-maxage` or
/// `must-revalidate`. HTTP has no such rule for cookies, which are in nearly every request of a browser: here only
/// `public` shares them. With a service's own credentials, no origin can be expected to know what such a word grants.
package enum CredentialSharing: Sendable, Equatable {
  case authorization
  case cookies

  /// Chooses the rule by the lower-case names of a request's credentials; nil if one of them is never shared.
  package init?(_ names: Set<String>) {
    guard !names.isEmpty, names.isSubset(of: ["authorization", "cookie"]) else { return nil }
    self = names.contains("cookie") ? .cookies : .authorization
  }

  /// Whether an answer may be shown to all who ask.
  ///
  /// `private` outweighs every word beside it. An answer that varies with credentials fits nobody else's request.
  package func admits(_ headers: HeaderList) -> Bool {
    let control = CacheControl(headers)
    guard !control.isPrivate, Set(varyingNames(headers)).isDisjoint(with: ["*", "authorization", "cookie"]) else {
      return false
    }
    switch self {
    case .authorization: return control.isPublic || control.sharedMaxAge != nil || control.mustRevalidate
    case .cookies: return control.isPublic
    }
  }
}
