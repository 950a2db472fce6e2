/// The kinds of request that the gateway knows.
package enum HTTPMethod: Sendable { case get, head, post, other }

/// The kind of socket over which a request came, by its word in `TrustedProxies=`. Either way the peer is a
/// program of this machine.
package enum HTTPPeer: String, CaseIterable, Sendable { case unix, loopback }

/// An HTTP request, and the place for its answer.
package protocol HTTPExchange: AnyObject {
  var method: HTTPMethod { get }
  /// The target as it was sent, with its query, not decoded.
  var target: String { get }
  var peer: HTTPPeer { get }
  /// Called once if the client goes before it has its answer.
  var onLeave: (() -> Void)? { get set }
  /// Called once when the request is over: its answer is sent, or its connection gone.
  var onEnd: (() -> Void)? { get set }

  /// The values of a header field, in the order in which they were sent; the name in any case.
  func fields(_ name: String) -> [String]

  /// Answers the request; may be called once.
  func answer(_ response: HTTPResponse)
}
