package import ImgdSystem

/// The daemon's answer to `stats`, and the moment at which it came.
package struct DaemonStatistics {
  package let reply: Reply
  package let moment: Instant

  package init(reply: Reply, moment: Instant) {
    self.reply = reply
    self.moment = moment
  }

  /// A number of one of the objects; zero where the daemon does not have it.
  package func number(_ object: String, _ field: String) -> Int { reply.object(object)?.number(field) ?? 0 }

  /// A number by its path, such as `fleet.purges.sent`; zero where the daemon does not have it.
  package func number(at path: String) -> Int {
    let names = path.split(separator: ".").map { String($0) }
    guard let field = names.last else { return 0 }
    var part: Reply? = reply
    for name in names.dropLast() { part = part?.object(name) }
    return part?.number(field) ?? 0
  }

  /// A text of one of the objects.
  package func text(_ object: String, _ field: String) -> String? { reply.object(object)?.text(field) }

  /// Look-ups in a tier: all of them begin in memory; the disk is asked next, then the fleet.
  package func lookups(_ tier: String) -> Int { number(tier, "hits").addedClamped(number(tier, "misses")) }

  /// Look-ups that were answered from the cache. One that joined a download under way is among them: nothing was
  /// downloaded for it.
  package var hits: Int { answeredLookups { number($0, $1) } }

  /// The numbers of the answer by their paths, such as `memory.hits`, in its order.
  package var numbers: [(path: String, value: Int)] { Self.numbers(of: reply, under: "") }

  private static func numbers(of part: Reply, under prefix: String) -> [(path: String, value: Int)] {
    part.fields.flatMap { field -> [(path: String, value: Int)] in
      if let inner = part.object(field) { return numbers(of: inner, under: prefix + field + ".") }
      return part.number(field).map { [(prefix + field, $0)] } ?? []
    }
  }
}

extension Int {
  /// The sum, or the largest number there is.
  func addedClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

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
  package var hits: Int { answeredLookups { growth($0, $1) } }

  package var hitRate: Double { Double(hits) / seconds }
  package var missRate: Double { Double(lookups - hits) / seconds }

  /// The share of look-ups that were answered from the cache; nil without any.
  package var hitRatio: Double? { lookups > 0 ? Double(hits) / Double(lookups) : nil }
}

/// The look-ups that were found in a tier or joined a download under way; `number` gives a counter.
private func answeredLookups(_ number: (_ object: String, _ field: String) -> Int) -> Int {
  let (found, missed) = (number("memory", "hits"), number("memory", "misses"))
  let local = found.addedClamped(number("disk", "hits")).addedClamped(number("fleet", "hits"))
  return min(local.addedClamped(number("memory", "coalesced")), found.addedClamped(missed))
}
