internal import ImgdConnection
internal import ImgdSystem

/// A connection that does nothing but receive the daemon's events.
final class Subscription {
  private let feed: EventFeed
  private let path: String
  /// Called once, when the daemon has accepted or refused.
  private var begun: ((Result<Void, any Error>) -> Void)?
  private var connection: WatchedConnection?

  /// Connects and subscribes.
  init(
    to topics: Set<EventTopic>, on loop: EventLoop, path: String, feed: EventFeed,
    begun: @escaping (Result<Void, any Error>) -> Void
  ) {
    self.feed = feed
    self.path = path
    self.begun = begun
    do throws(ConnectionProblem) {
      let made = try WatchedConnection(
        path: path, on: loop, onLine: { [unowned self] in receive($0) },
        onEnd: { [unowned self] in close(ConnectionError($0 ?? .closed(path: path))) })
      connection = made
      var line = RequestLine("subscribe")
      line.add("events", topics.map(\.rawValue).sorted())
      made.send(line.bytes)
    } catch { close(ConnectionError(error)) }
  }

  /// Ends the connection, and the events with it; without an error because nobody reads them any more.
  func close(_ error: (any Error)? = nil) {
    connection.take()?.close()
    feed.end(error)
    begun.take()?(.failure(error ?? CancellationError()))
  }

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: path)
      switch reply.succeeded {
      case .some(true): begun.take()?(.success(()))
      case .some(false): close(ImgdError(reply))
      case .none: feed.add(DaemonEvent(reply))
      }
    } catch { connection?.breakOff(error) }
  }
}
