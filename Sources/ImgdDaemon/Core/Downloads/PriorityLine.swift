import ImgdSystem

/// What waits with one priority: users take turns, inside a user its connections, and inside a
/// connection its own order counts.
///
/// A user or a connection keeps its turn as long as anything waits in its name. It comes up only while
/// something of it is offered, for which its host has a place.
final class PriorityLine {
  /// Users for which nothing waits are remembered up to this number: they are few, and nobody makes
  /// more at will.
  private static let mostRemembered = 1_000

  private var users: [UInt32: UserTurns] = [:]
  private var offered = KeyedHeap<UInt32>()
  private var clock = TurnClock<UInt32>()

  var hasOffers: Bool { !offered.isEmpty }
  /// How many claims are offered.
  var offeredCount: Int { users.values.reduce(0) { $0 + $1.offeredCount } }

  // MARK: Waiting

  func join(_ claimant: Claimant) {
    let user = users[claimant.uid] ?? UserTurns()
    users[claimant.uid] = user
    if user.isEmpty { user.stamp = clock.stamp(for: claimant.uid) }
    user.join(claimant.connection)
  }

  func leave(_ claimant: Claimant) {
    guard let user = users[claimant.uid] else { return }
    user.leave(claimant.connection)
    if user.isEmpty, users.count > Self.mostRemembered { users[claimant.uid] = nil }
  }

  /// Counts a turn of the user and of the connection.
  func noteService(of claimant: Claimant) {
    let stamp = clock.stamp(forServed: claimant.uid)
    guard let user = users[claimant.uid] else { return }
    user.noteService(of: claimant.connection)
    user.stamp = stamp
    if user.hasOffers { offered.insert(claimant.uid, key: stamp) }
  }

  // MARK: Offers

  func offer(_ claim: Claim) {
    guard let user = users[claim.claimant.uid] else { return }
    user.offer(claim)
    offered.insert(claim.claimant.uid, key: user.stamp)
  }

  func withdraw(_ claim: Claim) {
    guard let user = users[claim.claimant.uid] else { return }
    user.withdraw(claim)
    if !user.hasOffers { offered.remove(claim.claimant.uid) }
  }

  /// The claim whose turn it is, of those that may have a place.
  func next(
    at now: Instant, ageBound: Duration, admits: (Claimant) -> Bool, admitsUser: (UInt32) -> Bool
  ) -> Claim? {
    var connection: UInt64?
    let uid = offered.first { uid in
      guard admitsUser(uid) else { return false }
      connection = users[uid]?.firstOffered { admits(Claimant(uid: uid, connection: $0)) }
      return connection != nil
    }
    guard let uid, let connection else { return nil }
    return users[uid]?.next(of: connection, at: now, ageBound: ageBound)
  }
}

/// The connections of one user, as they take turns.
private final class UserTurns {
  var stamp: Int64 = 0
  private var connections: [UInt64: Connection] = [:]
  private var offered = KeyedHeap<UInt64>()
  private var clock = TurnClock<UInt64>()

  private struct Connection {
    var stamp: Int64
    /// How many claims wait in its name.
    var waiting = 0
    var offers = ClaimLine()
  }

  var isEmpty: Bool { connections.isEmpty }
  var hasOffers: Bool { !offered.isEmpty }
  var offeredCount: Int { connections.values.reduce(0) { $0 + $1.offers.count } }

  func join(_ number: UInt64) {
    if connections[number] == nil {
      connections[number] = Connection(stamp: clock.stamp(for: number))
    }
    connections[number]?.waiting += 1
  }

  func leave(_ number: UInt64) {
    connections[number]?.waiting -= 1
    if connections[number]?.waiting == 0 { connections[number] = nil }
  }

  func noteService(of number: UInt64) {
    let stamp = clock.stamp(forServed: number)
    guard let connection = connections[number] else { return }
    connections[number]?.stamp = stamp
    if !connection.offers.isEmpty { offered.insert(number, key: stamp) }
  }

  func offer(_ claim: Claim) {
    let number = claim.claimant.connection
    connections[number]?.offers.insert(claim)
    if let connection = connections[number] { offered.insert(number, key: connection.stamp) }
  }

  func withdraw(_ claim: Claim) {
    let number = claim.claimant.connection
    connections[number]?.offers.remove(claim)
    if connections[number]?.offers.isEmpty != false { offered.remove(number) }
  }

  func firstOffered(where isWanted: (UInt64) -> Bool) -> UInt64? {
    offered.first(where: isWanted)
  }

  func next(of number: UInt64, at now: Instant, ageBound: Duration) -> Claim? {
    connections[number]?.offers.next(at: now, ageBound: ageBound)
  }
}
