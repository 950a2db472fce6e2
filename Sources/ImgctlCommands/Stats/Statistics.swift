import ImgdConnection
import ImgdSystem

/// The daemon's answer to `stats`, and the moment at which it came.
struct Statistics {
  let reply: Reply
  let moment: Instant

  /// A number of one of the objects; zero where the daemon does not have it.
  func number(_ object: String, _ field: String) -> Int {
    reply.object(object)?.number(field) ?? 0
  }

  /// A text of one of the objects.
  func text(_ object: String, _ field: String) -> String? {
    reply.object(object)?.text(field)
  }

  /// Look-ups in a tier.
  func lookups(_ tier: String) -> Int {
    number(tier, "hits").addedClamped(number(tier, "misses"))
  }

  /// Look-ups that a tier could answer. All of them begin in memory; the disk is asked next, then the fleet.
  var hits: Int {
    let local = number("memory", "hits").addedClamped(number("disk", "hits"))
    return min(local.addedClamped(number("fleet", "hits")), lookups("memory"))
  }

  /// The numbers of the answer by their paths, such as `memory.hits`, in its order.
  var numbers: [(path: String, value: Int)] {
    Self.numbers(of: reply, under: "")
  }

  private static func numbers(of part: Reply, under prefix: String) -> [(path: String, value: Int)]
  {
    part.fields.flatMap { field -> [(path: String, value: Int)] in
      if let inner = part.object(field) { return numbers(of: inner, under: prefix + field + ".") }
      return part.number(field).map { [(prefix + field, $0)] } ?? []
    }
  }
}

extension Context {
  /// The daemon's counters as they are now.
  func statistics(over connection: ControlConnection) throws(Failure) -> (Statistics, Answer) {
    let answer = try ask(RequestLine("stats"), over: connection)
    return (Statistics(reply: answer.reply, moment: .current), answer)
  }
}

/// The time between two answers to `stats`.
struct Interval {
  let before: Statistics
  let after: Statistics

  /// Nil where the second answer is that of another process, whose counters began anew.
  init?(from before: Statistics, to after: Statistics) {
    guard before.number("process", "pid") == after.number("process", "pid"),
      after.moment > before.moment
    else { return nil }
    self.before = before
    self.after = after
  }

  var seconds: Double {
    Double((after.moment - before.moment).nanoseconds) / 1e9
  }

  /// How much a counter has grown.
  func growth(_ object: String, _ field: String) -> Int {
    let grown = after.number(object, field).subtractingReportingOverflow(
      before.number(object, field))
    return grown.overflow ? 0 : max(grown.partialValue, 0)
  }

  /// How much a counter grows each second.
  func rate(_ object: String, _ field: String) -> Double {
    Double(growth(object, field)) / seconds
  }

  var lookups: Int { growth("memory", "hits").addedClamped(growth("memory", "misses")) }

  /// Look-ups that were answered from a tier.
  var hits: Int {
    let local = growth("memory", "hits").addedClamped(growth("disk", "hits"))
    return min(local.addedClamped(growth("fleet", "hits")), lookups)
  }

  var hitRate: Double { Double(hits) / seconds }
  var missRate: Double { Double(lookups - hits) / seconds }

  /// The share of look-ups that were answered from the cache; nil without any.
  var hitRatio: Double? { lookups > 0 ? Double(hits) / Double(lookups) : nil }
}

extension Int {
  fileprivate func addedClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
