package import ImgdSystem
package import ImgdWire

/// A subscription to the daemon's events, over a connection of its own.
package final class EventSubscription {
  /// Why no more events can come.
  package enum Loss {
    case refused(Reply)
    case broken(ConnectionProblem)
  }

  /// The daemon writes each event whole, and a socket holds more than this many: if fewer are waiting there, the daemon
  /// has none that it could not write.
  package static let mostTaken = 64

  private let path: String
  private let onBegin: (Reply) -> Void
  private let onEvent: (Reply) -> Void
  private let onLost: (Loss) -> Void
  private var connection: WatchedConnection?
  /// Reports a daemon that is not there, after `init` has returned.
  private var notice: Timer?
  private var isOver = false
  /// How many lines have come.
  private var count = 0

  /// Connects and subscribes to topics of the protocol.
  ///
  /// `onBegin` is called with the daemon's assent, which has the present state in `snapshot`, then `onEvent`
  /// with each event; `onLost` is called once, when no more can come, never within this call.
  package init(
    on loop: EventLoop, path: String, topics: Topics, onBegin: @escaping (Reply) -> Void = { _ in },
    onEvent: @escaping (Reply) -> Void, onLost: @escaping (Loss) -> Void
  ) {
    self.path = path
    self.onBegin = onBegin
    self.onEvent = onEvent
    self.onLost = onLost
    let events = Unowned(self)
    do throws(ConnectionProblem) {
      let made = try WatchedConnection(
        path: path, on: loop, onLine: { events.object.receive($0) },
        onEnd: { events.object.lose(.broken($0 ?? .closed(path: path))) })
      connection = made
      made.send(Request.subscribe(topics).line())
    } catch { notice = loop.schedule(after: .zero) { events.object.lose(.broken(error)) } }
  }

  deinit { close() }

  /// Ends the subscription; nothing is called any more.
  package func close() {
    isOver = true
    connection.take()?.close()
    notice.take()?.cancel()
  }

  /// Passes on the events that have arrived and that the loop has not looked at yet. Returns whether these are all that
  /// the daemon has sent by now; if they are many, there may be more.
  package func takeArrived() -> Bool {
    let end = count + Self.mostTaken
    var before: Int
    repeat {
      before = count
      connection?.exchange()
    } while count > before && count < end
    return count < end
  }

  private func lose(_ loss: Loss) {
    guard !isOver else { return }
    close()
    onLost(loss)
  }

  private func receive(_ line: [UInt8]) {
    count += 1
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: path)
      switch reply.succeeded {
      case .some(true): onBegin(reply)
      case .some(false): lose(.refused(reply))
      case .none: onEvent(reply)
      }
    } catch { lose(.broken(error)) }
  }
}
