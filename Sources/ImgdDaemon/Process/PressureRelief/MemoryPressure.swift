import ImgdProgram
import ImgdSystem

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

  /// The share that the memory tier is limited to.
  var share: MemoryShare { relief.share }

  /// Opens a source, or closes it, as the configuration now says.
  func apply(isWanted: Bool) {
    guard isWanted != request.isWanted else { return }
    request.isWanted = isWanted
    open()
  }

  /// Frees memory on demand, as if under pressure.
  func relieve(_ source: String) { relief.relieve(source) }

  private func open() {
    monitor = nil
    let monitor = PressureMonitor(request, paths: paths, loop: loop) { [unowned self] in relief.answer(source) }
    monitor.onChange = { [log, unowned monitor] in log($0, [.source(monitor.source.rawValue)]) }
    self.monitor = monitor
    if let note = monitor.note { log("the source of memory pressure is \(source) (\(note))", [.source(source)]) }
  }
}
