// An HTTP origin that does what the test wants it to do.
//
// It listens on a port of the loopback that the system picks, with a thread for each connection and
// blocking calls, so that what an answer says is what happens, in that order. What is not planned
// is a 404. A path with several answers gives them in turn, and the last one from then on. Nothing
// in it waits for time: an answer that has to be slow waits at a `Gate`.

import Glibc

package final class OriginServer: Sendable {
  package let port: Int
  private let desk: OriginDesk
  private let isIPv6: Bool

  /// Listens on 127.0.0.1, or on ::1.
  package init(ipv6: Bool = false) throws {
    isIPv6 = ipv6
    let listener = try OriginSocket.listen(ipv6: ipv6)
    port = OriginSocket.port(of: listener)
    desk = OriginDesk()
    let desk = self.desk
    detachThread {
      while let connection = OriginSocket.accept(listener) { desk.serve(connection) }
      close(listener)
    }
    desk.listener.with { $0 = listener }
  }

  deinit { stop() }

  /// Ends all connections and hears no more.
  package func stop() {
    desk.stop()
  }

  /// The whole URL of a path, under the address that is listened on or another name for it.
  package func url(_ path: String, host: String? = nil) -> String {
    "http://\(host ?? (isIPv6 ? "[::1]" : "127.0.0.1")):\(port)\(path)"
  }

  // MARK: Plans

  /// What the path answers: each of the answers once, and the last one for ever.
  package func plan(_ path: String, _ answers: OriginAnswer...) {
    desk.state.with { $0.plans[path] = answers }
  }

  // MARK: What happened

  /// All requests, in the order in which they came.
  package var requests: [OriginRequest] { desk.state.with { $0.requests } }

  package func requests(_ path: String) -> [OriginRequest] {
    requests.filter { $0.path == path }
  }

  /// How often a path was asked for.
  package func count(_ path: String) -> Int {
    desk.state.with { $0.counts[path, default: 0] }
  }

  /// How many connections have been made.
  package var connections: Int { desk.state.with { $0.accepted } }

  /// How many connections are open now.
  package var openConnections: Int { desk.state.with { $0.open.count } }

  /// Waits until a path has been asked for so often; false when it is not.
  @discardableResult
  package func waitForRequests(_ path: String, _ count: Int = 1) -> Bool {
    desk.state.wait { $0.counts[path, default: 0] >= count ? true : nil } ?? false
  }

  /// Waits until at most so many connections are open; false when they stay.
  @discardableResult
  package func waitForOpenConnections(_ most: Int) -> Bool {
    desk.state.wait { $0.open.count <= most ? true : nil } ?? false
  }
}
