internal import ImgdText

/// The times that an answer carries, in seconds since 1970, and what follows from them.
struct AnswerDates {
  private let receivedAt: Int64
  private let date: Int64?
  private let age: Int64
  private let lastModified: Int64?
  /// Nil without the field; a field that is not a single date means that the answer has expired.
  private let expires: Int64?

  init(_ headers: HeaderList, receivedAt: Int64) {
    self.receivedAt = receivedAt
    date = Self.date("date", in: headers, now: receivedAt)
    lastModified = Self.date("last-modified", in: headers, now: receivedAt)
    let expires = Self.date("expires", in: headers, now: receivedAt)
    self.expires = headers.contains { $0.name == "expires" } ? expires ?? .min : nil
    age = headers.first { $0.name == "age" }.map { Self.age($0.value) } ?? 0
  }

  /// The single date of a field. A field that comes twice, even with the same date, has no date, since
  /// its joined lines would not be one.
  private static func date(_ name: String, in headers: HeaderList, now: Int64) -> Int64? {
    let values = headers.filter { $0.name == name }
    return values.count == 1 ? HTTPDate.parse(values[0].value, now: now) : nil
  }

  /// The first number of a list, as RFC 9111 demands (5.1); 0 for a field that does not begin with a number.
  private static func age(_ value: String) -> Int64 {
    var scanner = FieldScanner(value)
    return CacheControl.seconds(scanner.takeArgument()) ?? 0
  }

  /// The greater of age and apparent age (RFC 9111, 4.2.3); a clock that is behind the origin's makes no age
  /// negative.
  func initialAge(delay: Duration) -> Duration {
    let apparent = max(receivedAt - (date ?? receivedAt), 0)
    let told = Duration.seconds(age) + max(delay, .zero)
    return min(max(.seconds(apparent), told), .seconds(CacheControl.longest))
  }

  /// The lifetime that the origin has named, if any (RFC 9111, 4.2.1).
  ///
  /// An answer for one user is not shared: for it s-maxage counts only because it is better than a guess.
  func explicitLifetime(_ control: CacheControl, isScoped: Bool) -> Duration? {
    let shared = control.sharedMaxAge.map { Duration.seconds($0) }
    let own = control.maxAge.map { Duration.seconds($0) } ?? lifetimeFromExpires
    return isScoped ? own ?? shared : shared ?? own
  }

  private var lifetimeFromExpires: Duration? {
    guard let expires else { return nil }
    guard expires != .min else { return .zero }
    return .seconds(min(max(expires - (date ?? receivedAt), 0), CacheControl.longest))
  }

  /// The lifetime for an answer that names none.
  func guessedLifetime(_ rules: FreshnessRules) -> Duration {
    guard let lastModified else { return rules.defaultLifetime }
    let unchanged = max((date ?? receivedAt) - lastModified, 0)
    let guess = unchanged * Int64(min(max(rules.heuristicPercent, 0), 100)) / 100
    return .seconds(min(guess, FreshnessRules.longestGuess))
  }
}
