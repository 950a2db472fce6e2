import ImgdSystem
package import ImgdWire

/// A request over a `RequestChannel`: it ends once, with its answer or without one, or is given up.
package final class DaemonCall {
  /// The daemon's line, whether it reports success or failure, or the reason why there is none.
  package typealias Outcome = Result<DaemonAnswer, ConnectionProblem>

  /// Nil once the call has ended, to free its memory: the answer of a daemon that hangs may be long in coming.
  private var request: Request?
  private let isRepeatable: Bool
  private let onEvent: (Reply) -> Void
  private var done: ((Outcome) -> Void)?
  /// The channel that carries the call, until the call has ended.
  private var channel: Unowned<RequestChannel>?
  /// The receipt of a fetch as it was sent last; nil before that.
  private var receipt: ReceiptID?
  private var isRepeat = false
  /// Fires when the daemon's time is over.
  private var alarm: Timer?
  /// The length of its line in bytes.
  private(set) var length = 0

  /// A request that is not sent yet. A fetch that is given up is cancelled at the daemon; a repeatable request does no
  /// harm if the daemon carries it out twice.
  package init(
    _ request: Request, isRepeatable: Bool = true, onEvent: @escaping (Reply) -> Void = { _ in },
    _ done: @escaping (Outcome) -> Void
  ) {
    self.request = request
    self.isRepeatable = isRepeatable
    self.onEvent = onEvent
    self.done = done
  }

  deinit { alarm?.cancel() }

  /// Ends the call, since nobody waits for it any more: a fetch is cancelled at the daemon, too.
  package func cancel() {
    let channel = channel
    guard close() != nil, let receipt else { return }
    channel?.object.cancel(receipt)
  }

  var hasEnded: Bool { done == nil }

  /// Makes the call belong to a channel; the daemon has to answer within `limit`, if there is one.
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

  /// Returns whether the call may be sent once more.
  func beginRepeat() -> Bool {
    defer { isRepeat = true }
    return isRepeatable && !isRepeat && !hasEnded
  }

  /// Passes on an event, unless nobody waits any more.
  func passOn(_ event: Reply) { if !hasEnded { onEvent(event) } }

  func finish(_ outcome: Outcome) { close()?(outcome) }

  /// Detaches the call from its channel, which may end before the call does.
  func leave() { channel = nil }

  /// Ends the call, since the daemon's time is over.
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
