import ImgdTransfer

/// The edge at which orders for pictures leave the core. Reports of what became of them come back
/// as values, through `Core.receive`.
///
/// A test replaces it: behind it are a thread, libcurl and the network.
protocol Transfers: AnyObject {
  /// Begins a transfer; all reports about it carry the order's serial.
  func begin(_ order: TransferOrder)
  /// Changes the limits of a transfer that may be under way; the deadline counts from its start.
  func adjust(serial: UInt64, maxBytes: Int, deadline: Duration)
  /// Ends a transfer without a report; one that is on its way already may still arrive.
  func abort(serial: UInt64)
  /// Drops the bodies that broke off and wait to be continued.
  func dropPartials()
  /// What is held for transfers now.
  var holdings: TransferHoldings { get }
}

extension TransferEngine: Transfers {}
