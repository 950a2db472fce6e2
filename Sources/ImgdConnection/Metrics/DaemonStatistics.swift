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

  /// A text of one of the objects.
  package func text(_ object: String, _ field: String) -> String? { reply.object(object)?.text(field) }

  /// Look-ups in a tier.
  package func lookups(_ tier: String) -> Int { number(tier, "hits").addedClamped(number(tier, "misses")) }

  /// Look-ups that were answered from the cache. All of them begin in memory; the disk is asked next, then the
  /// fleet. One that joined a download under way is among them: nothing was downloaded for it.
  package var hits: Int { Lookups.answered { number($0, $1) } }

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
