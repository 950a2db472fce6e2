import ImgdCache
import ImgdFleet
import ImgdSystem

@testable import ImgdDaemon

/// The fleet of a core: it notes the orders, and a test tells the core what came of them.
final class PlannedFleet: Fleet {
  enum Order {
    case join(FleetPosition?)
    case look(FleetLook)
    case claim(serial: UInt64, KeyDigest, replacing: UInt64)
    case renew(serial: UInt64)
    case release(serial: UInt64, removing: Bool)
    case store(FleetStore)
    case send(FleetPurge)
  }

  private(set) var orders: [Order] = []
  private weak var core: Core?
  private weak var loop: EventLoop?

  func attach(to core: Core, on loop: EventLoop) {
    self.core = core
    self.loop = loop
  }

  /// Has the core hear of an event in its next tick.
  func tell(_ event: FleetEvent) {
    loop?.nextTick { [weak core] in core?.receive(FleetReport(event)) }
  }

  func join(from position: FleetPosition?) { orders.append(.join(position)) }
  func look(_ look: FleetLook) { orders.append(.look(look)) }

  func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    orders.append(.claim(serial: serial, digest, replacing: stamp))
  }

  func renew(serial: UInt64) { orders.append(.renew(serial: serial)) }

  func release(serial: UInt64, removing: Bool) {
    orders.append(.release(serial: serial, removing: removing))
  }

  func store(_ store: FleetStore) { orders.append(.store(store)) }
  func send(_ purge: FleetPurge) { orders.append(.send(purge)) }
}
