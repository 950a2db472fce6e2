// Relief when memory is short: everything that can be fetched again is freed.
//
// At most once in two seconds: sources report again and again, and a cache that was just emptied has nothing to free.
// Reports in between are answered once, at the end, as they may be about another shortage.
//
// A cache that fills up at once is limited to half its capacity until a minute has passed without pressure, and to a
// quarter from the third report in a row on; it grows back in the same steps.

import ImgdCache
import ImgdProgram
import ImgdSystem

final class PressureRelief {
  /// Its effects on the rest of the daemon.
  struct Effects {
    /// Empties the memory tier and all else that can be fetched again; tells what the tier held once it is empty.
    let release: (_ released: @escaping (Removal) -> Void) -> Void
    /// Limits the memory tier to a share of its capacity from now on.
    let hold: (MemoryShare) -> Void
    /// Counts the relief, and sends an event to clients that have subscribed.
    let tell: (_ source: String, _ removed: Removal) -> Void
  }

  /// The kernel reports only one degree of pressure; the second is that the pressure goes on.
  enum Level {
    case warning
    case critical
  }

  static let floor = Duration.seconds(2)
  static let calm = Duration.seconds(60)
  /// From this many reports in a row on, the pressure is critical.
  static let streakLimit = 3

  private(set) var share = MemoryShare.whole

  private let loop: EventLoop
  private let effects: Effects
  private let log: (String, [Log.Field]) -> Void
  private var last: Instant?
  private var streak = 0
  private var postponed: Timer?
  private var growth: Timer?

  init(
    loop: EventLoop, effects: Effects, log: @escaping (String, [Log.Field]) -> Void = { Log.notice(.pressure, $0, $1) }
  ) {
    self.loop = loop
    self.effects = effects
    self.log = log
  }

  deinit {
    postponed?.cancel()
    growth?.cancel()
  }

  var level: Level { streak < Self.streakLimit ? .warning : .critical }

  /// Memory is short, according to `source`.
  func answer(_ source: String) {
    soon { [unowned self] in
      streak += 1
      relieveNow(source)
    }
  }

  /// Frees memory on demand, which does not count as a report.
  func relieve(_ source: String) { soon { [unowned self] in relieveNow(source) } }

  /// Frees memory at once, or when the two seconds are over, once for all reports in between.
  private func soon(_ relieve: @escaping () -> Void) {
    guard let wait = timeLeft else { return relieve() }
    guard postponed == nil else { return }
    postponed = loop.schedule(after: wait, relieve)
  }

  private func relieveNow(_ source: String) {
    postponed?.cancel()
    postponed = nil
    last = loop.now
    effects.release { [unowned self] in released($0, for: source) }
  }

  /// Reduces the share only now: the pictures that this evicts would otherwise be missing from the count.
  private func released(_ removed: Removal, for source: String) {
    let isLess = hold()
    effects.tell(source, removed)
    guard removed.entries > 0 || isLess else { return }
    let pictures = removed.entries == 1 ? "1 picture" : "\(removed.entries) pictures"
    log(
      "memory pressure (\(source)): freed \(removed.bytes) bytes (\(pictures)); the memory tier may "
        + "now use \(share.words) of its capacity", [.source(source), .entries(removed.entries), .bytes(removed.bytes)])
  }

  /// The rest of the two seconds; nil when they are over.
  private var timeLeft: Duration? {
    guard let last, case let left = last + Self.floor - loop.now, left > .zero else { return nil }
    return left
  }

  /// Limits the tier to what the level allows; returns whether that is less than before.
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
}

/// Memory pressure in the daemon: the source that reports it, and the relief.
final class MemoryPressure {
  private let relief: PressureRelief
  private let loop: EventLoop
  private let paths: PressurePaths
  private let log: (String, [Log.Field]) -> Void
  private var request: PressureRequest
  private var monitor: PressureMonitor?

  init(
    _ request: PressureRequest, paths: PressurePaths = .system, loop: EventLoop, effects: PressureRelief.Effects,
    log: @escaping (String, [Log.Field]) -> Void = { Log.notice(.pressure, $0, $1) }
  ) {
    relief = PressureRelief(loop: loop, effects: effects, log: log)
    self.log = log
    self.loop = loop
    self.paths = paths
    self.request = request
    open()
  }

  /// The source in use, as `stats` names it.
  var source: String { monitor.map(\.source.rawValue) ?? "none" }

  /// Why better sources are not used; nil when there are none.
  var note: String? { monitor?.note }

  var share: MemoryShare { relief.share }

  /// Opens a source, or closes it, as the configuration now says.
  func apply(isWanted: Bool) {
    guard isWanted != request.isWanted else { return }
    request.isWanted = isWanted
    open()
  }

  func relieve(_ source: String) { relief.relieve(source) }

  private func open() {
    monitor = nil
    let monitor = PressureMonitor(request, paths: paths, loop: loop) { [unowned self] in relief.answer(source) }
    monitor.onChange = { [log, unowned monitor] in log($0, [.source(monitor.source.rawValue)]) }
    self.monitor = monitor
    if let note = monitor.note { log("the source of memory pressure is \(source) (\(note))", [.source(source)]) }
  }
}
