import Synchronization

/// What the engine holds at the moment, for a count of the whole process's memory.
package struct TransferHoldings: Sendable, Equatable {
  /// Bytes of the bodies under way.
  package var bodies = 0
  /// Bytes of the bodies that broke off and wait to be continued.
  package var partials = 0
  /// Bytes of the handles that wait for a transfer, estimated.
  package var idleHandles = 0
  /// Open connections, those that wait for another request included.
  package var connections = 0
  /// Names that are being looked up, each on a thread.
  package var lookups = 0

  package init() {}
}

/// The holdings, kept up to date by the transfer thread and read by any other without waiting.
final class HoldingsCount: Sendable {
  /// One number, which one thread writes.
  struct Gauge: ~Copyable, Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }
    func set(_ value: Int) { number.store(value, ordering: .relaxed) }
    func add(_ difference: Int) { number.store(value + difference, ordering: .relaxed) }
  }

  let bodies = Gauge()
  let partials = Gauge()
  let idleHandles = Gauge()
  let connections = Gauge()
  let lookups = Gauge()

  var all: TransferHoldings {
    var all = TransferHoldings()
    all.bodies = bodies.value
    all.partials = partials.value
    all.idleHandles = idleHandles.value
    all.connections = connections.value
    all.lookups = lookups.value
    return all
  }
}
