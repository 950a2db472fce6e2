import ImgdSystem

/// The time between two answers to `stats`.
package struct Interval {
  package let before: DaemonStatistics
  package let after: DaemonStatistics

  /// Nil if the second answer comes from another process, whose counters began anew.
  package init?(from before: DaemonStatistics, to after: DaemonStatistics) {
    guard before.number("process", "pid") == after.number("process", "pid"), after.moment > before.moment else {
      return nil
    }
    self.before = before
    self.after = after
  }

  package var seconds: Double { Double((after.moment - before.moment).nanoseconds) / 1e9 }

  /// How much a counter has grown.
  package func growth(_ object: String, _ field: String) -> Int {
    let grown = after.number(object, field).subtractingReportingOverflow(before.number(object, field))
    return grown.overflow ? 0 : max(grown.partialValue, 0)
  }

  /// How much a counter grows each second.
  package func rate(_ object: String, _ field: String) -> Double { Double(growth(object, field)) / seconds }

  package var lookups: Int { growth("memory", "hits").addedClamped(growth("memory", "misses")) }

  /// Look-ups that were answered from the cache, as `DaemonStatistics.hits` has them.
  package var hits: Int { Lookups.answered { growth($0, $1) } }

  package var hitRate: Double { Double(hits) / seconds }
  package var missRate: Double { Double(lookups - hits) / seconds }

  /// The share of look-ups that were answered from the cache; nil without any.
  package var hitRatio: Double? { lookups > 0 ? Double(hits) / Double(lookups) : nil }
}
