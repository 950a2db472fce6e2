package import ImgdConnection
package import ImgdSystem
package import ImgdWire

/// The gateway's connection to the daemon, made when it is needed and anew after a restart.
package final class DaemonLink {
  /// The daemon's line, whether it reports success or failure, or the reason why there is none.
  package typealias Outcome = DaemonCall.Outcome

  private let loop: EventLoop
  private let channel: RequestChannel

  /// `path` is called for each connection.
  package init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    channel = RequestChannel(on: loop, mostWaiting: 4_096, path: path)
  }

  /// Whether there is a connection now.
  package var isConnected: Bool { channel.isConnected }

  /// Sends a request, and calls back with its answer once, never within this call. There is no call for a request that
  /// is cancelled, and a fetch is then cancelled at the daemon, too. A daemon that is silent for longer than `limit` is
  /// given up.
  @discardableResult package func ask(
    _ request: Request, with descriptor: SharedDescriptor? = nil, within limit: Duration = .seconds(5),
    _ done: @escaping (Outcome) -> Void
  ) -> DaemonCall {
    let call = DaemonCall(request, with: descriptor, done)
    channel.begin(call, within: limit)
    return call
  }

  /// Subscribes to topics of the daemon's events, over a connection of its own.
  package func subscribe(
    to topics: Topics, onBegin: @escaping (Reply) -> Void = { _ in }, onEvent: @escaping (Reply) -> Void,
    onLost: @escaping () -> Void
  ) -> EventSubscription {
    EventSubscription(
      on: loop, path: channel.socketPath, topics: topics, onBegin: onBegin, onEvent: onEvent, onLost: { _ in onLost() })
  }
}
