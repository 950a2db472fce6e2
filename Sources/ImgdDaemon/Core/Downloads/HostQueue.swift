import ImgdSystem
import ImgdWire

/// The downloads that wait for one host, and the number of those that run.
final class HostQueue {
  let name: String
  var queued = 0
  var active = 0
  /// How many of those that run are slow.
  var slow = 0
  /// All of them were slow, and none has flowed or ended in time since: others go first.
  var yields = false
  /// The host has asked to be left alone until then.
  var heldUntil: Instant?
  /// Its time is over, and whether it answers again is still to be seen: one at a time.
  var isOnProbation = false
  /// Those that wait, by priority and user. A line knows whose turn it was, and stays as long as
  /// anything of the host waits or runs.
  private(set) var lines: [LineName: HostLine] = [:]

  struct LineName: Hashable {
    let priority: Priority
    let uid: UInt32
  }

  init(name: String) {
    self.name = name
  }

  var isUnused: Bool { queued == 0 && active == 0 && heldUntil == nil }

  /// Whether one more may run beside those that do.
  func hasPlace(atMost limit: Int) -> Bool {
    heldUntil == nil && active < (isOnProbation ? 1 : limit)
  }

  func line(for claim: Claim) -> HostLine {
    let name = LineName(priority: claim.priority, uid: claim.claimant.uid)
    if let line = lines[name] { return line }
    let line = HostLine(name)
    lines[name] = line
    return line
  }
}

/// What one user waits for at one host with one priority: the user's connections take turns, and each
/// has an order of its own.
final class HostLine {
  let name: HostQueue.LineName
  private var lanes: [UInt64: Lane] = [:]
  private var turns = KeyedHeap<UInt64>()
  private var clock = TurnClock<UInt64>()
  /// Those that stand in the common lines for this one: the next, and the oldest of the same
  /// connection.
  var offered: [Claim] = []

  private struct Lane {
    var stamp: Int64
    var claims = ClaimLine()
  }

  init(_ name: HostQueue.LineName) {
    self.name = name
  }

  func insert(_ claim: Claim) {
    let connection = claim.claimant.connection
    if lanes[connection] == nil {
      let stamp = clock.stamp(for: connection)
      lanes[connection] = Lane(stamp: stamp)
      turns.insert(connection, key: stamp)
    }
    lanes[connection]?.claims.insert(claim)
  }

  func remove(_ claim: Claim) {
    let connection = claim.claimant.connection
    lanes[connection]?.claims.remove(claim)
    guard lanes[connection]?.claims.isEmpty == true else { return }
    lanes[connection] = nil
    turns.remove(connection)
  }

  func noteService(of claimant: Claimant) {
    let stamp = clock.stamp(forServed: claimant.connection)
    guard lanes[claimant.connection] != nil else { return }
    lanes[claimant.connection]?.stamp = stamp
    turns.insert(claimant.connection, key: stamp)
  }

  /// Those to offer: of the connection whose turn it is, unless it has to let others go first.
  func candidates(hasToWait: (Claimant) -> Bool) -> [Claim] {
    let ready = turns.first { !hasToWait(Claimant(uid: name.uid, connection: $0)) }
    guard let connection = ready ?? turns.first, let claims = lanes[connection]?.claims,
      let first = claims.first, let oldest = claims.oldest
    else { return [] }
    return first == oldest ? [first] : [first, oldest]
  }
}
