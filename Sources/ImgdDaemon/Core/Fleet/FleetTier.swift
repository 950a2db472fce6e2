import ImgdCache
import ImgdFleet
import ImgdSystem
import ImgdWire

/// The tier between disk and origin: pictures that other hosts have fetched, too.
final class FleetTier {
  private let fleet: (any Fleet)?
  private let history: PurgeHistory
  private let loop: EventLoop
  private var settings: Configuration.Fleet
  private(set) var state = FleetState(.connecting)

  init(
    _ fleet: (any Fleet)?, history: PurgeHistory, loop: EventLoop, settings: Configuration.Fleet
  ) {
    self.fleet = fleet
    self.history = history
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration.Fleet) { self.settings = settings }

  /// Takes in what the engine tells of look-ups and stores.
  func receive(_ report: FleetReport) {
    if case .state(let state) = report.event { self.state = state }
  }
}
