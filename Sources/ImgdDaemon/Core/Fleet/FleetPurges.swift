import ImgdCache
import ImgdFleet
import ImgdSystem
import ImgdWire

/// The purges that this host hears from the others, and those that it sends to them.
final class FleetPurges {
  let history: PurgeHistory
  private let fleet: (any Fleet)?
  private let turns: Turns
  private let loop: EventLoop

  init(_ fleet: (any Fleet)?, turns: Turns, loop: EventLoop) {
    history = PurgeHistory(loop: loop)
    self.fleet = fleet
    self.turns = turns
    self.loop = loop
  }

  /// Takes in what the engine tells of purges.
  func receive(_ event: FleetEvent) {}
}
