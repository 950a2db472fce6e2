internal import CCurl
internal import ImgdSystem

/// The transfers under way, by serial, with the state that they share on the transfer thread.
final class TransferTable {
  /// Handles hold buffers, which a burst of transfers must not leave behind.
  private static let mostIdleHandles = 16

  // The thread owns the loop, which owns the mailbox, which owns this table.
  unowned let loop: EventLoop
  let multi: CurlMulti
  let report: (TransferEvent) -> Void
  var partials = PartialBodies()
  private var settings: TransferSettings
  private var transfers: [UInt64: Transfer] = [:]
  private var idleHandles: [EasyHandle] = []

  init(
    loop: EventLoop, settings: TransferSettings, report: @escaping (TransferEvent) -> Void
  ) throws(SystemFailure) {
    self.loop = loop
    self.settings = settings
    self.report = report
    multi = try CurlMulti(loop: loop)
    apply(settings)
  }

  func receive(_ message: TransferMessage) {
    switch message {
    case .begin(let order): begin(order)
    case .adjust(let serial, let maxBytes, let deadline):
      transfers[serial]?.adjust(maxBytes: maxBytes, deadline: deadline)
    case .abort(let serial): transfers.removeValue(forKey: serial)?.close()
    case .apply(let settings): apply(settings)
    case .dropPartials: partials.removeAll()
    case .askForLife(let answer): answer()
    case .stop: stop()
    }
  }

  private func begin(_ order: TransferOrder) {
    precondition(transfers[order.serial] == nil, "a serial names one transfer")
    let transfer = Transfer(order, settings: settings, table: self)
    transfers[order.serial] = transfer
    transfer.begin()
  }

  private func apply(_ settings: TransferSettings) {
    self.settings = settings
    multi.keepConnections(settings.maxConnections)
  }

  private func stop() {
    for transfer in transfers.values { transfer.close() }
    transfers.removeAll()
    partials.removeAll()
    idleHandles.removeAll()
    multi.close()
    loop.stop()
  }

  /// Removes a transfer and reports its outcome, as its last event.
  func ended(_ transfer: Transfer, _ outcome: TransferOutcome) {
    transfers[transfer.order.serial] = nil
    report(.finished(serial: transfer.order.serial, outcome))
  }

  // MARK: Handles

  func takeHandle() throws(TransferFailure) -> EasyHandle {
    guard let handle = idleHandles.popLast() ?? EasyHandle() else {
      throw TransferFailure(.unavailable, "out of memory")
    }
    return handle
  }

  func giveBack(_ handle: EasyHandle) {
    handle.reset()
    if idleHandles.count < Self.mostIdleHandles { idleHandles.append(handle) }
  }
}
