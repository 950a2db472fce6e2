import ImgdSystem
package import ImgdWire

/// A request over a `RequestChannel`: it ends once, with its answer or without one, or is given up.
package final class DaemonCall {
  /// The daemon's line, whether it tells of success or failure, or why there is none.
  package typealias Outcome = Result<DaemonAnswer, ConnectionProblem>

  /// Nil once it has ended: the answer of a daemon that hangs may be long in coming.
  private var request: Request?
  private let isRepeatable: Bool
  private let onEvent: (Reply) -> Void
  private var done: ((Outcome) -> Void)?
  /// The channel that has it, until it has ended.
  private var channel: Unowned<RequestChannel>?
  /// Of the fetch as it was sent last; nil before that.
  private var receipt: ReceiptID?
  private var isRepeat = false
  /// The end of the daemon's time.
  private var alarm: Timer?
  /// The bytes of its line.
  private(set) var length = 0

  /// A request that is not sent yet. A fetch is cancelled at the daemon when it is given up; one that is repeatable
  /// does no harm if the daemon carries it out twice.
  package init(
    _ request: Request, isRepeatable: Bool = true,
    onEvent: @escaping (Reply) -> Void = { _ in }, _ done: @escaping (Outcome) -> Void
  ) {
    self.request = request
    self.isRepeatable = isRepeatable
    self.onEvent = onEvent
    self.done = done
  }

  deinit { alarm?.cancel() }

  /// Nobody waits for it any more: a fetch is cancelled at the daemon, too.
  package func cancel() {
    let channel = channel
    guard close() != nil, let receipt else { return }
    channel?.object.cancel(receipt)
  }

  var hasEnded: Bool { done == nil }

  /// Belongs to a channel from now on; the daemon has until the end of `limit`, if there is one.
  func enter(_ channel: RequestChannel, on loop: EventLoop, within limit: Duration?) {
    self.channel = Unowned(channel)
    guard let limit else { return }
    alarm = loop.schedule(after: limit) { [call = Unowned(self)] in call.object.giveUp() }
  }

  /// The line to send; each attempt of a fetch has a receipt of its own.
  func line(id: Int) -> [UInt8] {
    guard var request else { preconditionFailure("only a call that goes on is sent") }
    if case .fetch(var fetch) = request {
      receipt = .random()
      fetch.extras.receipt = receipt
      request = .fetch(fetch)
    }
    let bytes = request.line(id: .integer(Int64(id)))
    length = bytes.count
    return bytes
  }

  /// Whether the call may be sent once more.
  func beginRepeat() -> Bool {
    defer { isRepeat = true }
    return isRepeatable && !isRepeat && !hasEnded
  }

  /// Passes on an event, unless nobody waits any more.
  func passOn(_ event: Reply) {
    if !hasEnded { onEvent(event) }
  }

  func finish(_ outcome: Outcome) {
    close()?(outcome)
  }

  /// Is of no channel any more, which may end before it.
  func leave() {
    channel = nil
  }

  /// Nobody waits for the daemon any longer.
  private func giveUp() {
    guard let channel else { return }
    let done = close()
    if let receipt { channel.object.cancel(receipt) }
    done?(.failure(.silent(path: channel.object.socketPath)))
  }

  private func close() -> ((Outcome) -> Void)? {
    alarm.take()?.cancel()
    channel = nil
    request = nil
    return done.take()
  }
}

extension ReceiptID {
  /// A new one, from the kernel's random numbers.
  static func random() -> ReceiptID {
    var words: [UInt64] = [0, 0]
    Randomness.fill(&words)
    return .random(using: (words[0], words[1]))
  }
}
