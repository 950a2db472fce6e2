// An HTTP origin that answers as the test has planned.
//
// It listens on a free loopback port, with a thread for each connection and blocking calls, so that
// the steps of an answer happen in their order. A path without a plan is a 404. A path with several
// answers gives them in turn, and the last one from then on. Nothing waits by the clock: a slow answer
// waits at a `Gate`.

import Glibc

package final class OriginServer: Sendable {
  package let port: Int
  private let connectionTable: OriginConnections
  private let isIPv6: Bool

  /// Listens on 127.0.0.1, or on ::1. One that runs for hours does not keep its requests.
  package init(ipv6: Bool = false, keepsRequests: Bool = true) throws {
    isIPv6 = ipv6
    let listener = try OriginSocket.listen(ipv6: ipv6)
    port = OriginSocket.port(of: listener)
    connectionTable = OriginConnections(keepsRequests: keepsRequests)
    connectionTable.accept(from: listener)
  }

  /// Listens in another network as well, at the same address or at all addresses.
  package func listen(in network: PrivateNetwork, everywhere: Bool = false) throws {
    let port = port
    connectionTable.accept(
      from: try network.inside { try OriginSocket.listen(ipv6: false, port: port, everywhere: everywhere) })
  }

  deinit { stop() }

  /// Closes all connections and accepts no more.
  package func stop() {
    connectionTable.stop()
  }

  /// The whole URL of a path, with the listening address or another host name.
  package func url(_ path: String, host: String? = nil) -> String {
    "http://\(host ?? (isIPv6 ? "[::1]" : "127.0.0.1")):\(port)\(path)"
  }

  // MARK: Plans

  /// Sets the answers of a path: each is given once, the last one for ever.
  package func plan(_ path: String, _ answers: OriginAnswer...) {
    connectionTable.state.with { $0.plans[path] = answers }
  }

  /// Answers each request for which there is no plan.
  package func answer(_ planning: @escaping @Sendable (OriginRequest) -> OriginAnswer) {
    connectionTable.state.with { $0.planning = planning }
  }

  // MARK: Requests and connections

  /// All requests, in order of arrival.
  package var requests: [OriginRequest] { connectionTable.state.with { $0.requests } }

  package func requests(_ path: String) -> [OriginRequest] {
    requests.filter { $0.path == path }
  }

  /// The number of requests for a path.
  package func count(_ path: String) -> Int {
    connectionTable.state.with { $0.counts[path, default: 0] }
  }

  /// The number of connections so far.
  package var connections: Int { connectionTable.state.with { $0.accepted } }

  /// The number of open connections.
  package var openConnections: Int { connectionTable.state.with { $0.open.count } }

  /// Waits for the `count`th request for a path; false if it does not come.
  @discardableResult
  package func waitForRequests(_ path: String, _ count: Int = 1) -> Bool {
    connectionTable.state.wait { $0.counts[path, default: 0] >= count ? true : nil } ?? false
  }

  /// Waits until at most `most` connections are open; false if more stay open.
  @discardableResult
  package func waitForOpenConnections(_ most: Int) -> Bool {
    connectionTable.state.wait { $0.open.count <= most ? true : nil } ?? false
  }
}
