/// The values of `[HTTP-Gateway]`.
package struct GatewayConfiguration: Equatable, Sendable {
  /// The place where the gateway listens, unless the service manager passes a socket.
  package enum Place: Equatable, Sendable {
    case unix(String)
    /// An address of this machine alone, and a port.
    case loopback(address: String, port: Int)
  }

  /// Who may see the page, the metrics and the events.
  package enum PageAccess: String, Sendable, CaseIterable {
    /// Requests that name this machine as their host, and that no proxy has forwarded.
    case local
    case all
    case no
  }

  package var listen = Place.unix("/run/imgd/http.sock")
  /// Hosts whose pictures may be asked for without a signature, with their subdomains; `*` for all.
  package var allow: [String] = []
  /// A file with the keys of signatures, one per line; empty for none.
  package var keyFile = ""
  package var presets: [Preset] = []
  package var onlyPresets = false
  package var page = PageAccess.local
  /// A file with the token that a purge needs; if empty, nothing is purged.
  package var tokenFile = ""
  /// Peers whose `X-Forwarded-For` is believed.
  package var trustedProxies: [HTTPPeer] = [.unix]
  package var maxConnections = 1_024
  /// Requests under way for one forwarded address.
  package var maxPerAddress = 32
  /// Requests a second for one forwarded address; zero for no limit.
  package var rate = 0
  /// How long a picture may take.
  package var timeout = Duration.seconds(30)
  /// How long a connection may be idle, and a request take until it is complete.
  package var idleTimeout = Duration.seconds(30)

  package init() {}
}
