import ImgdSystem

@testable import ImgdDaemon
@testable import ImgdTransfer

/// The transfers that a core begins, as its origin plans them.
///
/// Orders are taken in the next tick and reports come by mailbox, as they do where a thread is
/// between. Some abilities of the engine are left out: retries, connections that
/// break off, bodies that are continued, names, addresses and certificates.
final class PlannedTransfers: Transfers {
  /// Gets the reports on the orders; set once by the composition.
  var receive: (TransferReport) -> Void = { _ in }
  private let origin: PlannedOrigin
  private let loop: EventLoop
  private let reports: Mailbox<TransferEvent>
  private var running: [UInt64: PlannedTransfer] = [:]

  init(of origin: PlannedOrigin, on loop: EventLoop) throws {
    self.origin = origin
    self.loop = loop
    let door = Door()
    reports = try loop.makeMailbox { [door] in door.transfers?.receive(TransferReport($0)) }
    door.transfers = self
  }

  deinit { origin.running -= running.count }

  /// Leads the mailbox here, which is made first.
  private final class Door {
    weak var transfers: PlannedTransfers?
  }

  func begin(_ order: TransferOrder) {
    precondition(running[order.serial] == nil, "a serial names one transfer")
    let transfer = PlannedTransfer(order, on: loop) { [unowned self] in report($0) }
    running[order.serial] = transfer
    origin.running += 1
    loop.nextTick { [weak self, weak transfer] in
      guard let self, let transfer, !transfer.isOver else { return }
      transfer.begin(origin.answer(order))
    }
  }

  func adjust(serial: UInt64, maxBytes: Int, deadline: Duration) {
    running[serial]?.adjust(maxBytes: maxBytes, deadline: deadline)
  }

  func abort(serial: UInt64) {
    guard let transfer = running[serial] else { return }
    transfer.end()
    forget(serial)
    origin.aborted += 1
  }

  var holdings: TransferHoldings { TransferHoldings() }

  func dropPartials() { origin.dropsOfPartials += 1 }

  private func report(_ event: TransferEvent) {
    if case .finished(let serial, _) = event { forget(serial) }
    reports.post(event)
  }

  private func forget(_ serial: UInt64) {
    if running.removeValue(forKey: serial) != nil { origin.running -= 1 }
  }
}
