internal import ImgdConnection
internal import ImgdSystem

/// All requests of a client except its subscriptions.
final class Conversation {
  private let channel: RequestChannel
  /// The requests that have no answer yet, by the ids of their calls.
  private var underWay: [Int: DaemonCall] = [:]
  private var isClosed = false

  init(on loop: EventLoop, path: @escaping () -> String) { channel = RequestChannel(on: loop, path: path) }

  /// Sends a request, as soon as few enough are under way.
  func begin(_ call: Call) {
    guard !call.hasEnded else { return }
    let request = DaemonCall(
      call.request, isRepeatable: call.isRepeatable, onEvent: { call.passOn($0) },
      { [unowned self] in finish(call, $0) })
    underWay[call.id] = request
    channel.begin(request)
  }

  /// Has the daemon cancel a fetch that nobody waits for any more.
  func cancel(_ call: Call) { underWay.removeValue(forKey: call.id)?.cancel() }

  /// Ends all requests and the connection.
  func close() {
    isClosed = true
    channel.close()
  }

  private func finish(_ call: Call, _ outcome: DaemonCall.Outcome) {
    underWay[call.id] = nil
    // Nothing is mapped for a request that was cancelled.
    guard !call.hasEnded else { return }
    call.finish(Result { try answer(outcome) })
  }

  private func answer(_ outcome: DaemonCall.Outcome) throws -> Answer {
    switch outcome {
    case .success(let answer):
      guard answer.reply.succeeded == true else { throw ImgdError(answer.reply) }
      return Answer(reply: answer.reply, memory: try memory(of: answer))
    case .failure(let problem): throw isClosed ? ConnectionError.clientClosed : ConnectionError(problem)
    }
  }

  private func memory(of answer: DaemonAnswer) throws(ConnectionError) -> PictureMemory? {
    guard let description = answer.reply.objects("fds")?.first else { return nil }
    do throws(ConnectionProblem) {
      return try PictureMemory(description, answer.takeDescriptor(), from: channel.socketPath)
    } catch { throw ConnectionError(error) }
  }
}
