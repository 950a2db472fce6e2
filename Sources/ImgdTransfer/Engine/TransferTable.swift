internal import CCurl
internal import ImgdSystem

/// The transfers under way, by serial, with the state that they share on the transfer thread.
final class TransferTable {
  /// A burst of transfers must not leave all its handles behind.
  private static let mostIdleHandles = 16
  /// The memory that curl uses for one handle.
  private static let bytesOfHandle = 12 * 1024

  // The thread owns the loop, which owns the mailbox, which owns this table.
  unowned let loop: EventLoop
  let multi: CurlMulti
  let names: NameResolver
  let report: (TransferEvent) -> Void
  let count: HoldingsCount
  var partials = PartialBodies() { didSet { count.partials.set(partials.bytes) } }
  private var settings: TransferSettings
  private var transfers: [UInt64: Transfer] = [:]
  private var idleHandles: [EasyHandle] = [] {
    didSet { count.idleHandles.set(idleHandles.count * Self.bytesOfHandle) }
  }

  init(
    loop: EventLoop, settings: TransferSettings, names: NameResolver, count: HoldingsCount,
    report: @escaping (TransferEvent) -> Void
  ) throws(SystemFailure) {
    self.loop = loop
    self.settings = settings
    self.names = names
    self.count = count
    self.report = report
    multi = try CurlMulti(loop: loop, count: count)
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
    names.close()
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

  /// Keeps a handle for the next transfer; one that is not clean is freed, with all that it holds.
  func giveBack(_ handle: EasyHandle, isClean: Bool) {
    guard isClean, idleHandles.count < Self.mostIdleHandles else { return }
    handle.reset()
    idleHandles.append(handle)
  }
}
