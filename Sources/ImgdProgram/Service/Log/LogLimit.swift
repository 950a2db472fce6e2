import ImgdSystem

/// Limits the entries about one subject in a span of time: a client in a loop must not push everything
/// else out of the journal.
struct LogLimit {
  /// The most entries of a subject in a span.
  static let most = 100
  static let span = Duration.seconds(30)

  enum Answer: Equatable {
    /// To be logged; this many entries of the subject were refused since the last one that was logged.
    case admitted(leftOut: Int)
    case refused
  }

  private struct Count {
    let since: Instant
    var logged = 0
    var leftOut = 0
  }

  private var counts: [Log.Subject: Count] = [:]

  /// Decides about one more entry. A start has no limit: it logs everything that is wrong, and happens once.
  mutating func admit(_ subject: Log.Subject, at now: Instant) -> Answer {
    guard subject != .start else { return .admitted(leftOut: 0) }
    var count = counts[subject] ?? Count(since: now)
    var leftOut = 0
    if now - count.since >= Self.span {
      leftOut = count.leftOut
      count = Count(since: now)
    }
    let isAdmitted = count.logged < Self.most
    if isAdmitted { count.logged += 1 } else { count.leftOut += 1 }
    counts[subject] = count
    return isAdmitted ? .admitted(leftOut: leftOut) : .refused
  }
}
