import ImgdDecode
import ImgdSystem

/// A running decoder with its channel, on a loop.
///
/// Everything that it sent before its end is received before its end is reported.
final class DecoderProcess {
  private let program: SpawnedProgram
  private let onArrival: (DecodeChannel.Arrival) -> Void
  private let onEnd: (SpawnedProgram.End) -> Void
  /// Nil when nothing is to be sent or received any more.
  private var line: StartedDecoder.Line?
  private var channelWatch: Watch?
  private var endWatch: Watch?

  /// `onArrival` is called with all that has arrived, and then with `.nothing`, unless the channel was closed
  /// meanwhile; `onEnd` is called once.
  init(
    _ started: StartedDecoder, on loop: EventLoop, onArrival: @escaping (DecodeChannel.Arrival) -> Void,
    onEnd: @escaping (SpawnedProgram.End) -> Void
  ) throws(SystemFailure) {
    program = started.program
    line = started.line
    self.onArrival = onArrival
    self.onEnd = onEnd
    let channel = started.line.channel.descriptor.number
    channelWatch = try loop.watch(channel, for: .read) { [unowned self] _ in receive() }
    endWatch = try loop.watch(program.descriptor, for: .read) { [unowned self] _ in reap() }
  }

  deinit {
    channelWatch?.cancel()
    endWatch?.cancel()
  }

  var pid: Int32 { program.pid }

  /// Sends an order; false when the decoder is gone.
  func send(_ order: DecodeOrder) -> Bool { line?.channel.send(order) ?? false }

  /// Closes the channel, which makes the decoder end.
  func hangUp() {
    channelWatch?.cancel()
    channelWatch = nil
    line = nil
  }

  func kill() {
    hangUp()
    program.kill()
  }

  private func receive() {
    while let line {
      let arrival = line.channel.receive()
      onArrival(arrival)
      switch arrival {
      case .nothing, .end, .broken: return
      case .abilities, .answer: break
      }
    }
  }

  private func reap() {
    receive()
    guard let end = program.reap() else { return }
    hangUp()
    endWatch?.cancel()
    endWatch = nil
    onEnd(end)
  }
}
