import ImgdSystem
import ImgdTransfer
import ImgdWire

/// What waits for one host, and how much is under way there.
final class HostQueue: HeapMember {
  let name: String
  /// Hosts are numbered as they come.
  let number: UInt64
  var places = HeapPlaces(repeating: 0)
  /// How much waits, and how much runs.
  var queued = 0
  var active = 0
  /// How many of the running ones are slow.
  var slow = 0
  /// All that ran were slow, and none has flowed again or ended in time since: other hosts go first.
  var yields = false
  /// The host has asked to be left alone until then.
  var heldUntil: Instant?
  /// No route leads there.
  var isWithheld = false
  /// Whether it answers again after that time is still to be seen: until then, one at a time.
  var isOnProbation = false
  /// What the operator allows here.
  private(set) var limits = HostLimits()
  /// Slows down what comes from here.
  private(set) var throttle: Throttle?
  /// By its pace, the time from which on nothing is owed for what has begun; nil where nothing is.
  private var due: Instant?
  /// Whether the next one has to wait for that.
  private var isPausing = false
  /// The lines of what waits. A line remembers whose turn it was, and stays as long as anything waits or runs.
  /// Each is known by its user and its priority.
  private(set) var lines: [UInt64: HostLine] = [:]

  init(name: String, number: UInt64) {
    self.name = name
    self.number = number
  }

  var isUnused: Bool { queued == 0 && active == 0 && heldUntil == nil && due == nil }

  /// Whether one more may run beside those that run already.
  func hasPlace(atMost limit: Int) -> Bool {
    heldUntil == nil && !isWithheld && !isPausing && active < (isOnProbation ? 1 : limits.places ?? limit)
  }

  /// Takes other limits, and returns when to review the pace.
  func apply(_ limits: HostLimits, at now: Instant) -> Instant? {
    self.limits = limits
    throttle?.limit(to: limits.bandwidth)
    if let bandwidth = limits.bandwidth { throttle = throttle ?? Throttle(bytesPerSecond: bandwidth) }
    return review(at: now)
  }

  /// Counts a beginning, and returns when to review the pace; nil for a host without one.
  func countBeginning(at now: Instant) -> Instant? {
    guard let pace = limits.pace else { return nil }
    due = max(due ?? now, now) + pace.interval
    return review(at: now)
  }

  /// When the next one may begin, by its pace; nil where that need not wait.
  var pauseEnd: Instant? {
    guard isPausing, let due, let pace = limits.pace else { return nil }
    return due + pace.interval * (1 - pace.burst)
  }

  /// Finds out whether the next one may begin, and returns when to review that again; nil if nothing is owed any more.
  func review(at now: Instant) -> Instant? {
    guard let owed = due, owed > now, let pace = limits.pace else {
      (due, isPausing) = (nil, false)
      return nil
    }
    let next = owed + pace.interval * (1 - pace.burst)
    isPausing = next > now
    return isPausing ? next : owed
  }

  func forgetPace() { (due, isPausing) = (nil, false) }

  func line(for claim: Claim) -> HostLine {
    let name = UInt64(claim.claimant.uid) << 2 | UInt64(claim.priority.rank)
    if let line = lines[name] { return line }
    let line = HostLine(claim.priority)
    lines[name] = line
    return line
  }
}

/// What one user waits for at one host with one priority, in turns of the user's connections.
final class HostLine {
  let priority: Priority
  let claims = TurnLine(.connection, to: .connection, of: .host)
  /// The claims that stand in the common queue for this line: the next, and the oldest of the same connection.
  var offered: [Claim] = []

  init(_ priority: Priority) { self.priority = priority }

  /// The claims to offer: those of the connection whose turn it is, unless it has to let others go first.
  func candidates(hasToWait: (Claimant) -> Bool) -> [Claim] {
    guard claims.isOffering else { return [] }
    let ready = claims.heads { hasToWait($0) ? .nothing : .anything }
    guard let heads = ready ?? claims.heads(admits: { _ in .anything }) else { return [] }
    return heads.next == heads.oldest ? [heads.next] : [heads.next, heads.oldest]
  }
}
