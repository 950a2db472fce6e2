extension CacheControl {
  /// The final statuses of RFC 9110 whose rules for caching are followed here; not 206, whose rules
  /// are about parts, and not 304, which is no answer of its own.
  private static let understood: Set<Int> = Set(200...205).union(300...303)
    .union([305, 307, 308, 421, 422, 426]).union(400...417).union(500...505)

  /// Whether an answer with this status must not be stored.
  ///
  /// An origin sends `must-understand, no-store` to caches that know the status and to those that
  /// do not: whoever knows it ignores the second (RFC 9111, 5.2.2.3).
  func forbidsStoring(_ status: Int, isScoped: Bool) -> Bool {
    if isPrivate && !isScoped { return true }
    return mustUnderstand ? !Self.understood.contains(status) : noStore
  }

  /// Whether a stale answer must never be shown unconfirmed (RFC 9111, 5.2.2.2, 5.2.2.8, 5.2.2.10).
  func forbidsStale(isScoped: Bool) -> Bool {
    mustRevalidate || (!isScoped && (proxyRevalidate || sharedMaxAge != nil))
  }
}
