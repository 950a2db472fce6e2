// What is done when memory is short: everything that can be fetched again is let go of.
//
// Not more often than every two seconds: the sources tell again and again while the shortage lasts,
// and what was just emptied has nothing to give. What is told within that time is answered once, at
// its end, as it may be news of another shortage.
//
// A cache that fills up again at once would be emptied again at once. So it is held to half its
// capacity until a minute has passed without pressure, and to a quarter when it is told for the
// third time in a row; it grows back in the same steps.

import ImgdCache
import ImgdSystem

/// Answers memory pressure, in measure.
final class PressureRelief {
  /// What a relief does to the rest of the daemon.
  struct Effects {
    /// Empties the memory tier, and whatever else can be done without; answers what the tier held.
    let release: () -> Removal
    /// Holds the memory tier to a share of its capacity from now on.
    let hold: (MemoryShare) -> Void
    /// Counts the relief, and tells who wants to know.
    let tell: (_ source: String, _ removed: Removal) -> Void
  }

  /// The kernel knows one degree of pressure only; how long it goes on makes the second.
  enum Level {
    case warning
    case critical
  }

  static let floor = Duration.seconds(2)
  static let calm = Duration.seconds(60)
  /// So many answers in a row are critical.
  static let streakLimit = 3

  private(set) var share = MemoryShare.whole

  private let loop: EventLoop
  private let effects: Effects
  private let log: (String, [Log.Field]) -> Void
  private var last: Instant?
  private var streak = 0
  private var owed: Timer?
  private var growth: Timer?

  init(
    loop: EventLoop, effects: Effects,
    log: @escaping (String, [Log.Field]) -> Void = { Log.notice(.pressure, $0, $1) }
  ) {
    self.loop = loop
    self.effects = effects
    self.log = log
  }

  deinit {
    owed?.cancel()
    growth?.cancel()
  }

  var level: Level { streak < Self.streakLimit ? .warning : .critical }

  /// Memory is short, says `source`.
  func answer(_ source: String) {
    soon { [unowned self] in
      streak += 1
      relieveNow(source)
    }
  }

  /// The same at somebody's request, which is no sign that it goes on.
  func relieve(_ source: String) {
    soon { [unowned self] in relieveNow(source) }
  }

  /// At once, or when the two seconds are over; once for all that is told meanwhile.
  private func soon(_ relieve: @escaping () -> Void) {
    guard let wait = timeLeft else { return relieve() }
    guard owed == nil else { return }
    owed = loop.schedule(after: wait, relieve)
  }

  private func relieveNow(_ source: String) {
    owed?.cancel()
    owed = nil
    last = loop.now
    // First, or what a smaller share takes would be missing in the count.
    let removed = effects.release()
    let isLess = hold()
    effects.tell(source, removed)
    if removed.entries > 0 || isLess { report(source, removed) }
  }

  /// What is left of the time in which nothing is done.
  private var timeLeft: Duration? {
    guard let last, case let left = last + Self.floor - loop.now, left > .zero else { return nil }
    return left
  }

  // MARK: The share

  /// Holds the tier to what the level allows; answers whether that is less than it was.
  private func hold() -> Bool {
    growth?.cancel()
    growth = loop.schedule(after: Self.calm) { [unowned self] in grow() }
    let allowed: MemoryShare = level == .critical ? .quarter : .half
    guard allowed.rawValue > share.rawValue else { return false }
    share = allowed
    effects.hold(share)
    return true
  }

  private func grow() {
    streak = 0
    share = share.grown
    effects.hold(share)
    guard share != .whole else { return }
    growth = loop.schedule(after: Self.calm) { [unowned self] in grow() }
  }

  private func report(_ source: String, _ removed: Removal) {
    log(
      "memory pressure (\(source)): gave back \(removed.bytes) bytes of \(removed.entries) pictures; "
        + "the memory tier may fill a \(share) of its capacity",
      [.source(source), .entries(removed.entries), .bytes(removed.bytes)])
  }
}
