/// The rule by which an answer to a request with credentials is one for all (RFC 9111, 3.5).
///
/// What `Authorization` fetched may be shown to others when its origin says so with `public`, `s-maxage` or
/// `must-revalidate`. Of cookies HTTP says nothing, as they are in nearly every request of a browser: here only
/// `public` shares. Of credentials of a service's own no origin can be expected to know what it grants by such a word.
package enum CredentialSharing: Sendable, Equatable {
  case authorization
  case cookies

  /// By the lower-case names of a request's credentials; nil where one of them is never shared.
  package init?(_ names: Set<String>) {
    guard !names.isEmpty, names.isSubset(of: ["authorization", "cookie"]) else { return nil }
    self = names.contains("cookie") ? .cookies : .authorization
  }

  /// Whether an answer may be shown to all who ask.
  ///
  /// `private` outweighs every word beside it. An answer that varies with credentials fits nobody else's.
  package func admits(_ headers: HeaderList) -> Bool {
    let control = CacheControl(headers)
    guard !control.isPrivate,
      Set(varyingNames(headers)).isDisjoint(with: ["*", "authorization", "cookie"])
    else { return false }
    switch self {
    case .authorization:
      return control.isPublic || control.sharedMaxAge != nil || control.mustRevalidate
    case .cookies: return control.isPublic
    }
  }
}
