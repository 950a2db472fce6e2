/// The names of request headers that are credentials: what they open belongs to the user who sent them.
///
/// The standard has two, and every service invents its own. A name that looks like one counts as one:
/// taken wrongly for a credential, a header costs its user a place on disk; not taken for one, it would
/// show one user's pictures to all.
struct CredentialNames {
  private static let standard: Set<String> = ["authorization", "cookie"]
  private static let endings = ["key", "token", "secret"]

  /// Names that the operator adds, in lower case.
  private let further: Set<String>

  init(_ http: Configuration.HTTP) { further = Set(http.credentialFields) }

  /// Whether a lower-case name is one of them.
  func contains(_ name: String) -> Bool {
    Self.standard.contains(name) || further.contains(name) || name.hasPrefix("proxy-") || name.contains("auth")
      || Self.endings.contains { name.hasSuffix($0) }
  }
}
