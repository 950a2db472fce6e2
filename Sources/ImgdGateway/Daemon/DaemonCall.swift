internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// A request of the gateway that is under way.
package final class DaemonCall {
  /// Nil once it has ended: the answer of a daemon that hangs may be long in coming.
  private var request: RequestLine?
  private let isFetch: Bool
  private weak var link: DaemonLink?
  private var done: ((DaemonLink.Outcome) -> Void)?
  /// Of the fetch as it was sent last; nil before that.
  private var receipt: ReceiptID?
  private var isRepeat = false
  /// The end of the daemon's time.
  var alarm: Timer?
  /// The bytes of its line.
  private(set) var length = 0

  init(
    _ request: RequestLine, isFetch: Bool, over link: DaemonLink,
    _ done: @escaping (DaemonLink.Outcome) -> Void
  ) {
    self.request = request
    self.isFetch = isFetch
    self.link = link
    self.done = done
  }

  /// Nobody waits for it any more: a fetch is cancelled at the daemon, too.
  package func cancel() {
    guard take() != nil, let receipt else { return }
    link?.cancel(receipt)
  }

  /// Nobody waits for the daemon any longer.
  func giveUp(_ problem: ConnectionProblem) {
    guard let done = take() else { return }
    if let receipt { link?.cancel(receipt) }
    done(.failure(problem))
  }

  private func take() -> ((DaemonLink.Outcome) -> Void)? {
    alarm.take()?.cancel()
    request = nil
    return done.take()
  }

  var hasEnded: Bool { done == nil }

  /// The line to send; each attempt of a fetch has a receipt of its own.
  func line(id: Int, using randomness: inout SystemRandomNumberGenerator) -> [UInt8] {
    guard var line = request else { preconditionFailure("only a call that goes on is sent") }
    line.add("id", id)
    if isFetch {
      let receipt = ReceiptID.random(using: (randomness.next(), randomness.next()))
      line.add("receipt", receipt.description)
      self.receipt = receipt
    }
    let bytes = line.bytes
    length = bytes.count
    return bytes
  }

  /// Whether the call may be sent once more.
  func beginRepeat() -> Bool {
    defer { isRepeat = true }
    return !isRepeat && !hasEnded
  }

  func end(_ outcome: DaemonLink.Outcome) {
    take()?(outcome)
  }
}
