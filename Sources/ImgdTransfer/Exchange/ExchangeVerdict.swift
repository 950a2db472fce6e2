/// The result of an exchange, by which the transfer decides how to go on.
enum ExchangeVerdict {
  case received
  /// 304: the condition of the order still holds.
  case confirmed
  case redirected(to: String)
  /// The body is not encoded as its head says, or in an unknown way.
  case undecodable
  /// A kept connection leads to a refused address; a new one may lead to another.
  case keptConnectionRefused
  /// The name of the host has to be looked up first.
  case needsAddress
  /// The partial body cannot be continued: the whole body has to be requested.
  case notContinued
  case failed(TransferFailure)

  /// Whether a partial body may remain that another exchange can continue.
  var leavesPartial: Bool {
    switch self {
    case .keptConnectionRefused, .needsAddress, .failed: true
    case .received, .confirmed, .redirected, .undecodable, .notContinued: false
    }
  }
}
