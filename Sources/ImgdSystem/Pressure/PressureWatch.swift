// How the daemon learns that memory is short: a ladder, of which the first rung that holds is used.
//
//   service-manager   what `$MEMORY_PRESSURE_WATCH` names: a file of the kernel, a FIFO, a socket
//   cgroup            a trigger on the stalls of the process's own control group
//   system            the same for the whole machine
//   cgroup-events     the group's counts of having reached its own limits
//   sampling          the stalls as a number that is read every two seconds
//
// What a rung needs may be missing, forbidden, or older than the kernel that learnt it, and only
// trying tells. Why a rung was passed over is kept as a note: somebody will ask. A rung may also
// end while it is in use (a peer closes its socket); then the ladder is taken further down.
//
// No rung may burn the processor, whatever the kernel or a peer does: after each time that a
// descriptor was ready it is left alone for a moment (`RestingWatch`), and one that goes on telling
// of a shortage that cannot be measured is not listened to for a minute (`StormGuard`).

/// Tells of memory pressure by the best means that the system gives.
package final class PressureWatch {
  /// Where the news comes from, best first; the texts are the words of `stats`.
  package enum Source: String, Sendable {
    case off
    case serviceManager = "service-manager"
    case cgroup
    case system
    case cgroupEvents = "cgroup-events"
    case sampling
    case none
  }

  /// How long a source is left alone after it has told of pressure.
  static let breath = Duration.milliseconds(200)
  /// The same after more news than can be true.
  static let stormRest = Duration.seconds(60)

  package private(set) var source = Source.none
  /// Called with a sentence for the log when a source has ended or is not believed.
  package var onChange: (String) -> Void = { _ in }

  private let request: PressureRequest
  private let places: PressurePlaces
  private let loop: EventLoop
  private let onPressure: () -> Void
  private let cgroup: String?
  private var rungs: ArraySlice<Source>
  private var sensor: AnyObject?
  private var passedOver: [String] = []
  private var storm = StormGuard()
  private var hasToldOfStorm = false

  /// Listens from now on to the best source that can be opened; there may be none.
  package init(
    _ request: PressureRequest, places: PressurePlaces = .system, loop: EventLoop,
    onPressure: @escaping () -> Void
  ) {
    self.request = request
    self.places = places
    self.loop = loop
    self.onPressure = onPressure
    cgroup = places.ownCgroup
    rungs = request.ladder[...]
    climb()
  }

  /// Why better sources than the present one are not used; nil when there are none.
  package var note: String? {
    passedOver.isEmpty ? nil : passedOver.joined(separator: "; ")
  }

  // MARK: The ladder

  /// Takes the first of the rungs left that holds.
  private func climb() {
    sensor = nil
    source = request.isOff ? .off : .none
    while sensor == nil, let rung = rungs.popFirst() {
      do throws(PressureProblem) {
        sensor = try open(rung)
        source = rung
      } catch {
        passedOver.append("\(rung.rawValue): \(error)")
      }
    }
  }

  private func open(_ rung: Source) throws(PressureProblem) -> AnyObject? {
    switch rung {
    case .serviceManager: try request.open(on: loop, ear: ear)
    case .cgroup: try trigger(on: ownCgroup() + "/memory.pressure")
    case .system: try trigger(on: places.stalls)
    case .cgroupEvents: try LimitWatch(of: ownCgroup(), loop: loop, ear: ear)
    case .sampling: try StallSampling(of: stallFiles, loop: loop, ear: ear)
    case .off, .none: nil
    }
  }

  private func trigger(on path: String) throws(PressureProblem) -> StallTrigger {
    try StallTrigger(StallTrigger.usual, on: path, loop: loop, ear: ear)
  }

  private func ownCgroup() throws(PressureProblem) -> String {
    guard let cgroup else { throw .noCgroup }
    return cgroup
  }

  /// Where stalls can be read, the nearest first.
  private var stallFiles: [String] {
    (cgroup.map { [$0 + "/memory.pressure"] } ?? []) + [places.stalls]
  }

  // MARK: News

  private var ear: PressureEar {
    PressureEar(
      pressure: { [unowned self] in hear() },
      ended: { [unowned self] reason in goOn(without: reason) })
  }

  /// Passes the news on, and answers how long to leave the source alone.
  private func hear() -> Duration {
    guard storm.isStorm(at: loop.now), !isShort else {
      onPressure()
      return Self.breath
    }
    storm = StormGuard()
    tellOfStorm()
    return Self.stormRest
  }

  /// Whether what can be measured agrees that tasks have waited for memory lately.
  private var isShort: Bool {
    stallFiles.lazy.compactMap(Stalls.init(readFrom:)).first?.isPressure ?? false
  }

  private func tellOfStorm() {
    guard !hasToldOfStorm else { return }
    hasToldOfStorm = true
    onChange(
      "\(source.rawValue) tells of memory pressure more often than can be, and nobody waits for "
        + "memory: it is left alone for \(Self.stormRest), now and whenever it does so again")
  }

  private func goOn(without reason: String) {
    let lost = source
    passedOver.append("\(lost.rawValue): \(reason)")
    climb()
    onChange(
      "memory pressure is no longer told by \(lost.rawValue) (\(reason)); "
        + "from now on: \(source.rawValue)")
  }
}
