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

  /// By rising priority.
  private let lines: [TurnLine]
  private var servicesSinceAge = servicesForAge - 1

  /// With turns of users, and of what belongs to them down to that level.
  init(to last: TurnLevel) {
    lines = Priority.allCases.map { _ in TurnLine(.user, to: last) }
  }

  func line(_ priority: Priority) -> TurnLine { lines[priority.rank] }

  /// `lowest` is the lowest priority of which something may be served.
  mutating func next(from lowest: Priority, at now: Instant, admits: (Claimant) -> Admission) -> Claim? {
    var first: Claim?
    var overdue: Claim?
    for line in lines[lowest.rank...] {
      guard let heads = line.heads(admits: admits) else { continue }
      // What was found so far has a lower priority.
      if let first, first.isOverdue(at: now), first.arrival < overdue?.arrival ?? .max { overdue = first }
      first = heads.oldest.isOverdue(at: now) ? heads.oldest : heads.next
    }
    if servicesSinceAge >= Self.servicesForAge - 1, let overdue {
      servicesSinceAge = 0
      return overdue
    }
    if first != nil { servicesSinceAge = min(servicesSinceAge + 1, Self.servicesForAge - 1) }
    return first
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

  private final class Member: HeapMember {
    let name: Claimant
    var places = HeapPlaces(repeating: 0)
    var stamp: Int64 = 0
    /// It has not been served since it came.
    var isNew = true
    /// How many claims are present in its name.
    var present = 0
    /// Its members; nil on the last level, where it has claims.
    let inner: TurnLine?
    var claims: ClaimLine

    init(_ name: Claimant, inner: TurnLine?, of queue: ClaimQueue) {
      self.name = name
      self.inner = inner
      claims = ClaimLine(of: queue)
    }

    /// Its place in the heaps in which it stands.
    var key: Int64 { isNew ? stamp - TurnLine.step : stamp }
    var isOffered: Bool { inner?.isOffering ?? !claims.isEmpty }
    var isQuick: Bool { inner.map { !$0.quick.isEmpty } ?? claims.hasQuick }

    /// Whether remembering it makes a difference when it comes again.
    func counts(at clock: Int64) -> Bool { !isNew && stamp > clock || inner?.members.isEmpty == false }
  }

  private let level: TurnLevel
  private let last: TurnLevel
  private let queue: ClaimQueue
  private var members: [Claimant: Member] = [:]
  /// The members that offer something, and those that offer something quick.
  private var offered = KeyedHeap<Member>(0)
  private var quick = KeyedHeap<Member>(1)
  /// The members that are not present, but are remembered.
  private var gone = KeyedHeap<Member>(2)
  private var clock: Int64 = 0
  /// The stamp of the last newcomer.
  private var newest: Int64 = 0

  /// With members of this level, and lines of members below them down to the last level.
  init(_ level: TurnLevel, to last: TurnLevel, of queue: ClaimQueue = .common) {
    self.level = level
    self.last = last
    self.queue = queue
  }

  var count: Int { members.count }
  var isOffering: Bool { !offered.isEmpty }
  private var present: Int { members.count - gone.count }

  /// The member that a claim belongs to.
  private func member(of claim: Claim) -> Member? { members[claim.claimant.member(at: level)] }

  /// Moves a member to where it stands after a change.
  private func place(_ member: Member) {
    offered.set(member, key: member.isOffered ? member.key : nil)
    quick.set(member, key: member.isQuick ? member.key : nil)
  }

  func join(_ claim: Claim) {
    let member = member(of: claim) ?? newMember(claim.claimant.member(at: level))
    if member.present == 0 { seat(member) }
    member.present += 1
    member.inner?.join(claim)
    place(member)
  }

  private func newMember(_ name: Claimant) -> Member {
    let inner = level == last ? nil : TurnLevel(rawValue: level.rawValue + 1)
    let member = Member(name, inner: inner.map { TurnLine($0, to: last, of: queue) }, of: queue)
    members[name] = member
    return member
  }

  private func seat(_ member: Member) {
    gone.remove(member)
    guard member.isNew || member.stamp <= clock else { return }
    // Behind the one that was served a step ago, whose stamp is one more than the clock was.
    newest = min(max(newest, clock + 1) + 1, clock + Self.step)
    member.stamp = newest
    member.isNew = true
  }

  /// `time` is what its service took in the end, if it had one that is measured.
  func leave(_ claim: Claim, after time: ServiceTime? = nil) {
    guard let member = member(of: claim) else { return }
    if let time, let expected = claim.expected { member.stamp += time.charge - expected.charge }
    member.present -= 1
    member.inner?.leave(claim, after: time)
    place(member)
    if let time { moveClock(to: clock + min(time, .quick).charge / Int64(present)) }
    guard member.present == 0 else { return }
    // By time, nobody owes anything when nobody else is there.
    if claim.expected != nil, present == 1 {
      (members, clock, newest) = ([:], 0, 0)
      gone.removeAll()
      return
    }
    gone.insert(member, key: member.stamp)
    forgetIfPossible(member)
    if gone.count > Self.mostRemembered, let least = gone.first { forget(least) }
  }

  private func moveClock(to time: Int64) {
    clock = time
    while let first = gone.first, forgetIfPossible(first) {}
  }

  @discardableResult private func forgetIfPossible(_ member: Member) -> Bool {
    guard !member.counts(at: clock) else { return false }
    forget(member)
    return true
  }

  private func forget(_ member: Member) {
    gone.remove(member)
    members[member.name] = nil
  }

  func offer(_ claim: Claim) {
    guard let member = member(of: claim) else { return }
    if let inner = member.inner { inner.offer(claim) } else { member.claims.insert(claim) }
    place(member)
  }

  func withdraw(_ claim: Claim) {
    guard let member = member(of: claim) else { return }
    if let inner = member.inner { inner.withdraw(claim) } else { member.claims.remove(claim) }
    place(member)
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
    _ = (admission == .quick ? quick : offered).first { member in
      let own = min(admission, admits(member.name))
      guard own != .nothing else { return false }
      heads = member.inner.map { $0.heads(for: own, admits: admits) } ?? member.claims.heads(own)
      return heads != nil
    }
    return heads
  }

  /// Counts the service of a claim that is present as a turn of its claimant.
  func charge(for claim: Claim) {
    guard let member = member(of: claim) else { return }
    let stamp = member.stamp
    moveClock(to: claim.expected == nil ? clock + Self.step : max(clock, stamp))
    member.stamp = claim.expected.map { max(stamp, clock - ServiceTime.quick.charge) + $0.charge } ?? clock + 1
    member.isNew = false
    member.inner?.charge(for: claim)
    place(member)
  }
}

/// The two in which a claim may stand at the same time: the one in which it is served, and that of its host.
enum ClaimQueue: Int { case common, host }

/// The claims of one claimant, in the order of their keys and in the order of arrival.
struct ClaimLine {
  private var byTurn: KeyedHeap<Claim>
  private var byArrival: KeyedHeap<Claim>
  private var quick: KeyedHeap<Claim>

  init(of queue: ClaimQueue) {
    byTurn = KeyedHeap(3 * queue.rawValue)
    byArrival = KeyedHeap(3 * queue.rawValue + 1)
    quick = KeyedHeap(3 * queue.rawValue + 2)
  }

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
