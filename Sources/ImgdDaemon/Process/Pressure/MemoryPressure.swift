import ImgdSystem

/// The daemon's sense of memory pressure: what it listens to, and what it does about it.
final class MemoryPressure {
  private let relief: PressureRelief
  private let loop: EventLoop
  private let places: PressurePlaces
  private let log: (String, [Log.Field]) -> Void
  private var request: PressureRequest
  private var watch: PressureWatch?

  init(
    _ request: PressureRequest, places: PressurePlaces = .system, loop: EventLoop,
    effects: PressureRelief.Effects,
    log: @escaping (String, [Log.Field]) -> Void = { Log.notice(.pressure, $0, $1) }
  ) {
    relief = PressureRelief(loop: loop, effects: effects, log: log)
    self.log = log
    self.loop = loop
    self.places = places
    self.request = request
    listen()
  }

  /// Which of the sources is listened to, as `stats` calls it.
  var source: String { watch.map(\.source.rawValue) ?? "none" }

  /// Why better sources are not used; nil when there are none.
  var note: String? { watch?.note }

  /// What the memory tier is held to.
  var share: MemoryShare { relief.share }

  /// Listens, or does not, as the configuration now says.
  func apply(isWanted: Bool) {
    guard isWanted != request.isWanted else { return }
    request.isWanted = isWanted
    listen()
  }

  /// Does what pressure would do, at once, because somebody wants it.
  func relieve(_ source: String) {
    relief.relieve(source)
  }

  private func listen() {
    watch = nil
    let watch = PressureWatch(request, places: places, loop: loop) { [unowned self] in
      relief.answer(source)
    }
    watch.onChange = { [log, unowned watch] in log($0, [.source(watch.source.rawValue)]) }
    self.watch = watch
    if let note = watch.note {
      log("what tells of memory pressure is: \(source) (\(note))", [.source(source)])
    }
  }
}
