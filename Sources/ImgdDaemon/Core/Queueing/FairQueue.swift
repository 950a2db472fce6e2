// What waits, and whose turn it is: by priority, then by turns of users and of what belongs to them, and finally by the
// claimant's own order.
//
// Age gives nobody more turns: among a claimant's own claims the overdue ones go first, and a lower priority in which
// something is overdue gets one service in four. Otherwise a higher priority always goes first.

import ImgdSystem
import ImgdWire

/// Claims in a line of turns for each priority.
struct FairQueue {
  /// One in this many services goes to what is overdue at a lower priority.
  private static let servicesForAge = 4

  let lines: [Priority: TurnLine]
  private var servicesSinceAge = servicesForAge - 1

  /// With turns of users, and of what belongs to them down to that level.
  init(to last: TurnLevel) {
    lines = Dictionary(uniqueKeysWithValues: Priority.allCases.map { ($0, TurnLine(.user, to: last)) })
  }

  /// The claim that is served next.
  mutating func next(of priorities: [Priority] = Priority.allCases, at now: Instant, admits: (Claimant) -> Admission)
    -> Claim?
  {
    let heads = priorities.compactMap { lines[$0]?.heads(admits: admits) }
    let firsts = heads.map { $0.oldest.isOverdue(at: now) ? $0.oldest : $0.next }
    let overdue = firsts.dropLast().filter { $0.isOverdue(at: now) }
    if servicesSinceAge >= Self.servicesForAge - 1, let oldest = overdue.min(by: { $0.arrival < $1.arrival }) {
      servicesSinceAge = 0
      return oldest
    }
    if !firsts.isEmpty { servicesSinceAge = min(servicesSinceAge + 1, Self.servicesForAge - 1) }
    return firsts.last
  }
}
