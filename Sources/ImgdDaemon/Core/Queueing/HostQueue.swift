import ImgdSystem
import ImgdWire

/// What waits for one host, and how much is under way there.
final class HostQueue {
  let name: String
  /// How much waits, and how much runs.
  var queued = 0
  var active = 0
  /// How many of the running ones are slow.
  var slow = 0
  /// All that ran were slow, and none has flowed again or ended in time since: other hosts go first.
  var yields = false
  /// The host has asked to be left alone until then.
  var heldUntil: Instant?
  /// Whether it answers again after that time is still to be seen: until then, one at a time.
  var isOnProbation = false
  /// The lines of what waits, by priority and user. A line remembers whose turn it was, and stays as long as anything
  /// of the host waits or runs.
  private(set) var lines: [LineName: HostLine] = [:]

  struct LineName: Hashable {
    let priority: Priority
    let uid: UInt32
  }

  init(name: String) { self.name = name }

  var isUnused: Bool { queued == 0 && active == 0 && heldUntil == nil }

  /// Whether one more may run beside those that run already.
  func hasPlace(atMost limit: Int) -> Bool { heldUntil == nil && active < (isOnProbation ? 1 : limit) }

  func line(for claim: Claim) -> HostLine {
    let name = LineName(priority: claim.priority, uid: claim.claimant.uid)
    if let line = lines[name] { return line }
    let line = HostLine(claim.priority)
    lines[name] = line
    return line
  }
}

/// What one user waits for at one host with one priority: the user's connections take turns, and each
/// has an order of its own.
final class HostLine {
  let priority: Priority
  let claims = TurnLine(.connection, to: .connection)
  /// The claims that stand in the common queue for this line: the next, and the oldest of the same connection.
  var offered: [Claim] = []

  init(_ priority: Priority) { self.priority = priority }

  /// The claims to offer: those of the connection whose turn it is, unless it has to let others go first.
  func candidates(hasToWait: (Claimant) -> Bool) -> [Claim] {
    let ready = claims.heads { hasToWait($0) ? .nothing : .anything }
    guard let heads = ready ?? claims.heads(admits: { _ in .anything }) else { return [] }
    return heads.next == heads.oldest ? [heads.next] : [heads.next, heads.oldest]
  }
}
