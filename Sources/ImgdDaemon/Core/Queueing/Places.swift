import ImgdWire

/// The places of running downloads: how many there are, and who holds them.
///
/// With eight places or more, an eighth is kept for connections that hold none, and the half of it for
/// users that hold none. There, a download that is slow does not count: its server would decide
/// otherwise how much room the others have. How many may run with the slow ones is bounded as well,
/// in all, for a user and for a connection. With fewer places every one counts: an operator who sets so few
/// means it.
struct Places {
  /// Fewer places are given out one by one.
  static let fewestToShare = 8
  /// Running downloads in all, the slow ones too, for each place.
  private static let mostPerPlace = 8

  /// How many may run that are not slow.
  var limit: Int
  private(set) var active = 0
  private(set) var slow = 0
  /// The most that ever ran at once.
  private(set) var peak = 0
  private var low = 0
  /// Of each user, and of each connection.
  private(set) var held: [Claimant: Int] = [:]

  init(limit: Int) {
    self.limit = limit
  }

  /// Whether the rules of more than a few places hold.
  var isShared: Bool { limit >= Self.fewestToShare }
  private var free: Int { limit - active + (isShared ? slow : 0) }
  private var reserve: Int { isShared ? limit / 8 : 0 }
  private var most: Int { isShared ? Self.mostPerPlace * limit : limit }
  private var mostOfUser: Int { isShared ? most / 2 : limit }
  private var mostOfConnection: Int { isShared ? most * 3 / 8 : limit }

  // MARK: Who may have one

  var hasAny: Bool { free > 0 && active < most }

  /// Where there is more than one place, one is kept from `low`.
  func admits(_ priority: Priority) -> Bool {
    priority != .low || limit < 2 || low < limit - 1
  }

  /// Whether a connection of a user who is admitted, or any of the user, may have one.
  func admits(_ claimant: Claimant) -> Bool {
    let held = held[claimant, default: 0]
    let (most, kept) =
      claimant.connection == nil ? (mostOfUser, reserve / 2) : (mostOfConnection, reserve)
    return hasAny && held < most && (held == 0 || free > kept)
  }

  /// Whether the connection has to wait for the places that it holds: it is passed over for another
  /// one at the same host.
  func holdsBack(_ claimant: Claimant) -> Bool {
    guard isShared, let held = held[claimant] else { return false }
    return free <= reserve || held >= mostOfConnection
  }

  // MARK: Given and given back

  mutating func give(to holder: Claimant, _ priority: Priority) {
    active += 1
    peak = max(peak, active)
    held[holder.member(at: .user), default: 0] += 1
    held[holder, default: 0] += 1
    if priority == .low { low += 1 }
  }

  mutating func giveBack(by holder: Claimant, _ priority: Priority, isSlow: Bool) {
    active -= 1
    held.countDown(holder.member(at: .user))
    held.countDown(holder)
    if isSlow { slow -= 1 } else if priority == .low { low -= 1 }
  }

  /// A running one became slow, or flows again.
  mutating func change(_ priority: Priority, isSlow: Bool) {
    slow += isSlow ? 1 : -1
    if priority == .low { low += isSlow ? -1 : 1 }
  }

  /// The requests for a running one that is not slow have another priority.
  mutating func change(from before: Priority, to after: Priority) {
    low += (after == .low ? 1 : 0) - (before == .low ? 1 : 0)
  }
}

extension Dictionary where Value == Int {
  /// Counts a key down, and forgets it at zero.
  mutating func countDown(_ key: Key, by amount: Int = 1) {
    let rest = self[key, default: 0] - amount
    self[key] = rest > 0 ? rest : nil
  }
}
