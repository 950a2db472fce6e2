/// Why a text is no URL that can be fetched.
package enum URLProblem: Error, Sendable, Equatable {
  /// A sentence that names what is wrong and what would be right.
  case bad(reason: String)
  /// A well-formed URL whose scheme is neither http nor https.
  case blockedScheme(scheme: String)
}
