internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// A subscription whose events go into a feed.
final class Subscription {
  private let feed: EventFeed
  /// Called once, when the daemon has accepted or refused.
  private var begun: ((Result<Void, any Error>) -> Void)?
  private var events: EventSubscription?

  /// Connects and subscribes.
  init(
    to topics: Set<EventTopic>, on loop: EventLoop, path: String, feed: EventFeed,
    begun: @escaping (Result<Void, any Error>) -> Void
  ) {
    self.feed = feed
    self.begun = begun
    events = EventSubscription(
      on: loop, path: path, topics: Topics(topics.compactMap { Topics(name: $0.rawValue) }),
      onBegin: { [unowned self] _ in self.begun.take()?(.success(())) },
      onEvent: { [feed] in feed.add(DaemonEvent($0)) }, onLost: { [unowned self] in lose($0) })
  }

  /// Ends the connection and the events; without an error if nobody reads them any more.
  func close(_ error: (any Error)? = nil) {
    events.take()?.close()
    feed.finish(error)
    begun.take()?(.failure(error ?? CancellationError()))
  }

  private func lose(_ loss: EventSubscription.Loss) {
    switch loss {
    case .refused(let reply): close(ImgdError(reply))
    case .broken(let problem): close(ConnectionError(problem))
    }
  }
}
