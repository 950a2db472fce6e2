import ImgdSystem

/// How much may be said of one subject in a while: what somebody does in a loop must not push
/// everything else out of the journal.
struct LogLimit {
  /// So many entries of a subject, in so long.
  static let most = 100
  static let span = Duration.seconds(30)

  enum Answer: Equatable {
    /// May be said; so many of this subject were not since the last one that was.
    case admitted(leftOut: Int)
    case refused
  }

  private struct Count {
    let since: Instant
    var said = 0
    var leftOut = 0
  }

  private var counts: [Log.Subject: Count] = [:]

  /// Decides about one more entry. A start says all that is wrong, and there is one start.
  mutating func admit(_ subject: Log.Subject, at now: Instant) -> Answer {
    guard subject != .start else { return .admitted(leftOut: 0) }
    var count = counts[subject] ?? Count(since: now)
    var leftOut = 0
    if now - count.since >= Self.span {
      leftOut = count.leftOut
      count = Count(since: now)
    }
    let isAdmitted = count.said < Self.most
    if isAdmitted { count.said += 1 } else { count.leftOut += 1 }
    counts[subject] = count
    return isAdmitted ? .admitted(leftOut: leftOut) : .refused
  }
}
