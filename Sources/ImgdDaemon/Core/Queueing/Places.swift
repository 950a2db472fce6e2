import ImgdWire

/// The places of running downloads: how many there are, and who holds them.
///
/// With eight places or more, an eighth is kept for connections that hold none, and half of that for users that hold
/// none. A download that is slow does not count then: otherwise its server would decide how much room the others have.
/// How many may run including the slow ones is bounded as well, in all, for a user and for a connection. With fewer
/// places every download counts: an operator who sets such a low limit means it.
final class Places {
  /// The fewest places for which the rules about shares hold.
  static let fewestToShare = 8
  /// How many downloads may run for each place, including the slow ones.
  private static let mostPerPlace = 8

  /// How many may run that are not slow.
  var limit: Int
  private(set) var active = 0
  private(set) var slow = 0
  /// The most that ever ran at once.
  private(set) var peak = 0
  private var low = 0
  /// How many each user and each connection holds.
  private(set) var held: [Claimant: Int] = [:]

  init(limit: Int) { self.limit = limit }

  /// Whether there are enough places for the rules about shares.
  var isShared: Bool { limit >= Self.fewestToShare }
  private var free: Int { limit - active + (isShared ? slow : 0) }
  private var reserve: Int { isShared ? limit / 8 : 0 }
  private var most: Int { isShared ? Self.mostPerPlace * limit : limit }
  private var mostOfUser: Int { isShared ? most / 2 : limit }
  private var mostOfConnection: Int { isShared ? most * 3 / 8 : limit }

  var hasAny: Bool { free > 0 && active < most }

  /// The lowest priority that may have a place: where there is more than one, one is kept from `low`.
  var lowest: Priority { limit < 2 || low < limit - 1 ? .low : .normal }

  /// Whether a user may have a place, or a connection of a user who is admitted.
  func admits(_ claimant: Claimant) -> Bool {
    let held = held[claimant, default: 0]
    let (most, kept) = claimant.connection == nil ? (mostOfUser, reserve / 2) : (mostOfConnection, reserve)
    return hasAny && held < most && (held == 0 || free > kept)
  }

  /// Whether others at the same host go ahead of the connection, because of the places that it holds.
  func holdsBack(_ claimant: Claimant) -> Bool {
    guard isShared, let held = held[claimant] else { return false }
    return free <= reserve || held >= mostOfConnection
  }

  func give(to holder: Claimant, _ priority: Priority) {
    active += 1
    peak = max(peak, active)
    held[holder.member(at: .user), default: 0] += 1
    held[holder, default: 0] += 1
    if priority == .low { low += 1 }
  }

  func giveBack(by holder: Claimant, _ priority: Priority, isSlow: Bool) {
    active -= 1
    held.countDown(holder.member(at: .user))
    held.countDown(holder)
    if isSlow { slow -= 1 } else if priority == .low { low -= 1 }
  }

  func change(_ priority: Priority, isSlow: Bool) {
    slow += isSlow ? 1 : -1
    if priority == .low { low += isSlow ? -1 : 1 }
  }

  /// Notes that the requests for a running download that is not slow have another priority.
  func change(from before: Priority, to after: Priority) {
    low += (after == .low ? 1 : 0) - (before == .low ? 1 : 0)
  }
}

extension Dictionary where Value == Int {
  /// Counts a key down, and forgets it at zero.
  mutating func countDown(_ key: Key, by amount: Int = 1) {
    guard let place = index(forKey: key) else {
      if amount < 0 { self[key] = -amount }
      return
    }
    let rest = values[place] - amount
    if rest > 0 { values[place] = rest } else { remove(at: place) }
  }
}
