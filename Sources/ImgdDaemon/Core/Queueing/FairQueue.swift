// What waits, and whose turn it is: by priority, by users and what belongs to them, by the claimant's own order.
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

// Members that take turns.
//
// Each member has a stamp on the clock of its line, which a service moves on; the smallest is next.
//
// By steps, the one that was served goes behind all others, and a newcomer just ahead of it: behind those that wait
// already, and never behind one that has had its turn, even when that one comes again.
//
// By time, the stamp is what a member has used. When a service starts, the member is charged for the time that the
// service is expected to take; when it ends, for the time that it took. The clock stands at the stamp of the member
// that was served last, and newcomers begin there, ahead of all who have had something: one that was away has saved
// nothing, and one that was passed over no more than a moment. The clock also moves on by what was used, divided by the
// number of members present: a member that owes much comes up in time, even if there is a newcomer for every service.
// Only the beginning of a long service counts here, or newcomers would wait for all who are owed that time.

/// What a member may be served with.
enum Admission: Comparable {
  case nothing
  /// Only what is expected to end in a moment.
  case quick
  case anything
}

/// A line of members, each of which has a line of its own: of other members, or of claims.
///
/// A claim is present from `join` to `leave`, and may be chosen from `offer` to `withdraw`.
final class TurnLine {
  /// The claim that is next in its claimant's order, and the oldest of that claimant.
  typealias Heads = (next: Claim, oldest: Claim)

  /// Members that are not present are remembered up to this number, if the clock has not passed them or their own
  /// members have turns. Beyond that, the one that owes least is forgotten.
  private static let mostRemembered = 64
  /// The length of a step. Newcomers stand within one, ahead of the clock.
  private static let step: Int64 = 1 << 20

  private struct Member {
    var stamp: Int64 = 0
    /// It has not been served since it came.
    var isNew = true
    /// How many claims are present in its name.
    var present = 0
    /// Its members; nil on the last level, where it has claims.
    let inner: TurnLine?
    var claims = ClaimLine()

    /// Changes it, and returns where it stands then in each heap; nil where it does not.
    mutating func keys(after change: (inout Member) -> Void) -> (offered: Int64?, quick: Int64?) {
      change(&self)
      let key = isNew ? stamp - TurnLine.step : stamp
      let isEmpty = inner?.offered.isEmpty ?? claims.isEmpty
      let hasQuick = inner.map { !$0.quick.isEmpty } ?? claims.hasQuick
      return (isEmpty ? nil : key, hasQuick ? key : nil)
    }

    /// Whether remembering it makes a difference when it comes again.
    func counts(at clock: Int64) -> Bool { !isNew && stamp > clock || inner?.members.isEmpty == false }
  }

  private let level: TurnLevel
  private let last: TurnLevel
  private var members: [Claimant: Member] = [:]
  /// The members that offer something, and those that offer something quick.
  private var offered = KeyedHeap<Claimant>()
  private var quick = KeyedHeap<Claimant>()
  /// The members that are not present, but are remembered.
  private var gone = KeyedHeap<Claimant>()
  private var clock: Int64 = 0
  /// The stamp of the last newcomer.
  private var newest: Int64 = 0

  /// With members of this level, and lines of members below them down to the last level.
  init(_ level: TurnLevel, to last: TurnLevel) {
    self.level = level
    self.last = last
  }

  var count: Int { members.count }
  private var present: Int { members.count - gone.count }

  /// Changes the member that a claim belongs to, and moves it to where it stands then.
  private func change(_ claim: Claim, _ change: (inout Member) -> Void) {
    let name = claim.claimant.member(at: level)
    guard let place = members.index(forKey: name) else { return }
    let keys = members.values[place].keys(after: change)
    offered.set(name, key: keys.offered)
    quick.set(name, key: keys.quick)
  }

  func join(_ claim: Claim) {
    let name = claim.claimant.member(at: level)
    if members[name] == nil {
      let inner = level == last ? nil : TurnLevel(rawValue: level.rawValue + 1)
      members[name] = Member(inner: inner.map { TurnLine($0, to: last) })
    }
    if members[name]?.present == 0 { seat(name) }
    change(claim) {
      $0.present += 1
      $0.inner?.join(claim)
    }
  }

  private func seat(_ name: Claimant) {
    gone.remove(name)
    guard let member = members[name], member.isNew || member.stamp <= clock else { return }
    // Behind the one that was served a step ago, whose stamp is one more than the clock was.
    newest = min(max(newest, clock + 1) + 1, clock + Self.step)
    members[name]?.stamp = newest
    members[name]?.isNew = true
  }

  /// `time` is what its service took in the end, if it had one that is measured.
  func leave(_ claim: Claim, after time: ServiceTime? = nil) {
    change(claim) {
      if let time, let expected = claim.expected { $0.stamp += time.charge - expected.charge }
      $0.present -= 1
      $0.inner?.leave(claim, after: time)
    }
    if let time { moveClock(to: clock + min(time, .quick).charge / Int64(present)) }
    let name = claim.claimant.member(at: level)
    guard let member = members[name], member.present == 0 else { return }
    // By time, nobody owes anything when nobody else is there.
    if claim.expected != nil, present == 1 {
      (members, gone, clock, newest) = ([:], KeyedHeap(), 0, 0)
      return
    }
    gone.insert(name, key: member.stamp)
    forgetIfPossible(name)
    if gone.count > Self.mostRemembered, let least = gone.first { forget(least) }
  }

  private func moveClock(to time: Int64) {
    clock = time
    while let first = gone.first, forgetIfPossible(first) {}
  }

  @discardableResult private func forgetIfPossible(_ name: Claimant) -> Bool {
    guard members[name]?.counts(at: clock) == false else { return false }
    forget(name)
    return true
  }

  private func forget(_ name: Claimant) {
    gone.remove(name)
    members[name] = nil
  }

  func offer(_ claim: Claim) {
    change(claim) { if let inner = $0.inner { inner.offer(claim) } else { $0.claims.insert(claim) } }
  }

  func withdraw(_ claim: Claim) {
    change(claim) { if let inner = $0.inner { inner.withdraw(claim) } else { $0.claims.remove(claim) } }
  }

  func insert(_ claim: Claim) {
    join(claim)
    offer(claim)
  }

  func remove(_ claim: Claim) {
    withdraw(claim)
    leave(claim)
  }

  /// What is offered by the member whose turn it is among those that are admitted, on every level.
  func heads(for admission: Admission = .anything, admits: (Claimant) -> Admission) -> Heads? {
    var heads: Heads?
    _ = (admission == .quick ? quick : offered).first { name in
      let own = min(admission, admits(name))
      guard own != .nothing, let member = members[name] else { return false }
      heads = member.inner.map { $0.heads(for: own, admits: admits) } ?? member.claims.heads(own)
      return heads != nil
    }
    return heads
  }

  /// Counts the service of a claim that is present as a turn of its claimant.
  func charge(for claim: Claim) {
    guard let stamp = members[claim.claimant.member(at: level)]?.stamp else { return }
    moveClock(to: claim.expected == nil ? clock + Self.step : max(clock, stamp))
    let earliest = clock - ServiceTime.quick.charge
    let next = claim.expected.map { max(stamp, earliest) + $0.charge } ?? clock + 1
    change(claim) {
      $0.stamp = next
      $0.isNew = false
      $0.inner?.charge(for: claim)
    }
  }
}

/// The claims of one claimant, in the order of their keys and in the order of arrival.
struct ClaimLine {
  private var byTurn = KeyedHeap<Claim>()
  private var byArrival = KeyedHeap<Claim>()
  private var quick = KeyedHeap<Claim>()

  var isEmpty: Bool { byTurn.isEmpty }
  var hasQuick: Bool { !quick.isEmpty }

  mutating func insert(_ claim: Claim) {
    byTurn.insert(claim, key: claim.turnKey)
    byArrival.insert(claim, key: claim.arrival)
    if claim.expected?.isQuick == true { quick.insert(claim, key: claim.turnKey) }
  }

  mutating func remove(_ claim: Claim) {
    byTurn.remove(claim)
    byArrival.remove(claim)
    quick.remove(claim)
  }

  func heads(_ admission: Admission) -> TurnLine.Heads? {
    if admission == .quick { return quick.first.map { ($0, $0) } }
    guard let next = byTurn.first, let oldest = byArrival.first else { return nil }
    return (next, oldest)
  }
}
