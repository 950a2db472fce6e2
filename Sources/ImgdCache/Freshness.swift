// How long an answer may be used, as RFC 9111 tells a shared cache.
//
// A pure function of the answer's headers and of what the operator and the request decided; no
// clock but the moments that are handed in.

/// What the operator decided for answers that leave it open.
package struct FreshnessDefaults: Sendable, Equatable {
  /// For an answer about which the origin says nothing at all.
  package var silent: Int64
  /// The part of the time since `Last-Modified` for which an answer is taken as fresh, in percent.
  package var heuristicPercent: Int64

  package init(silent: Int64 = 3_600, heuristicPercent: Int64 = 10) {
    self.silent = silent
    self.heuristicPercent = heuristicPercent
  }
}

package struct Freshness: Sendable, Equatable {
  /// Whether a cache may keep the answer.
  package let isStorable: Bool
  /// Seconds, counted from the answer's making.
  package let lifetime: Int64
  /// How old the answer was when it arrived.
  package let initialAge: Int64
  /// It must be confirmed before each use.
  package let mustRevalidate: Bool
  /// Request headers on which the answer depends, in lower case.
  package let varying: [String]

  /// No heuristic makes an answer fresh for longer: a week.
  private static let longestHeuristic: Int64 = 7 * 86_400

  /// - Parameters:
  ///   - isScoped: whether the answer is kept for one user's credentials alone, which makes a
  ///     private answer storable.
  ///   - ttl: a lifetime that the request decided on, instead of the origin.
  package init(
    _ header: (String) -> String?, defaults: FreshnessDefaults, now: Int64, ttl: Int64? = nil,
    isScoped: Bool = false
  ) {
    var control = CacheControl(header("cache-control"))
    if header("cache-control") == nil, header("pragma")?.lowercased() == "no-cache" {
      control.noCache = true
    }
    varying = Self.names(header("vary"))
    isStorable =
      !control.noStore && !varying.contains("*") && (isScoped || !control.isPrivate)
    mustRevalidate = control.noCache && ttl == nil
    let date = header("date").flatMap(HTTPDate.seconds)
    initialAge = ttl == nil ? Self.age(header("age"), date: date, now: now) : 0
    lifetime = ttl ?? Self.lifetime(control, header, date: date ?? now, defaults)
  }

  private static func lifetime(
    _ control: CacheControl, _ header: (String) -> String?, date: Int64,
    _ defaults: FreshnessDefaults
  ) -> Int64 {
    if let explicit = control.sharedMaxAge ?? control.maxAge { return explicit }
    if let expires = header("expires") {
      // A value that is no date, above all 0, means: expired.
      return HTTPDate.seconds(expires).map { max($0 - date, 0) } ?? 0
    }
    guard let modified = header("last-modified").flatMap(HTTPDate.seconds) else {
      return defaults.silent
    }
    let heuristic = max(date - modified, 0) / 100 * defaults.heuristicPercent
    return min(heuristic, longestHeuristic)
  }

  /// The larger of what caches on the way have counted and what the clocks say.
  private static func age(_ value: String?, date: Int64?, now: Int64) -> Int64 {
    let counted = value.map { CacheControl.seconds(CacheControl.trimmed($0)) } ?? 0
    return max(counted, date.map { max(now - $0, 0) } ?? 0)
  }

  private static func names(_ value: String?) -> [String] {
    (value ?? "").split(separator: ",")
      .map { CacheControl.trimmed(String($0)).lowercased() }
      // The daemon always asks for the same encodings.
      .filter { !$0.isEmpty && $0 != "accept-encoding" }
  }
}
