// The path of a request: the server hands out an exchange; the router decides who answers it; a picture is read from
// its target, admitted, counted for its address, and fetched from the daemon.

import ImgdConnection
internal import ImgdSystem

/// The composition of the gateway.
final class Gateway {
  private let server: HTTPServer
  /// Freed after the server, which listens on it.
  private let listener: HTTPListener

  /// Begins to serve; `daemon` names the daemon's socket, and is called for each connection to it.
  init(
    _ configuration: GatewayConfiguration, _ secrets: GatewaySecrets, listening listener: HTTPListener,
    daemon: @escaping () -> String, on loop: EventLoop
  ) throws(SystemFailure) {
    self.listener = listener
    let link = DaemonLink(on: loop, path: daemon)
    let pictures = PictureHandler(link: link, on: loop, timeout: configuration.timeout)
    let addresses = AddressLimits(maxUnderWay: configuration.maxPerAddress, rate: configuration.rate)
    // Set as soon as it serves: it holds the page, which asks for its counters.
    weak var serving: HTTPServer?
    let page = PageHandler(
      link: link, on: loop, access: configuration.page, token: secrets.token, onPurge: { pictures.forgetHeld() },
      counters: {
        GatewayCounters(
          server: serving?.counters ?? HTTPCounters(), bytesSent: pictures.bytesSent, held: pictures.heldHits,
          limited: addresses.refused)
      })
    let router = GatewayRouter(
      page: page, pictures: pictures,
      access: PictureAccess(
        allow: configuration.allow, keys: secrets.keys, presets: configuration.presets,
        onlyPresets: configuration.onlyPresets), addresses: addresses, trusted: configuration.trustedProxies,
      loop: loop)
    var limits = HTTPLimits()
    limits.connections = configuration.maxConnections
    limits.headTimeout = configuration.idleTimeout
    limits.idleTimeout = configuration.idleTimeout
    limits.closingTimeout = .seconds(8)
    server = try HTTPServer(on: loop, at: listener.place, limits: limits, onRequest: router.route)
    serving = server
    page.gatherPast()
  }

  /// Accepts nothing new, and calls `done` when the answers under way are sent.
  func close(_ done: @escaping () -> Void) {
    server.close(done)
    listener.close()
  }
}

/// The secrets that the configuration names.
struct GatewaySecrets {
  let keys: SigningKeys
  let token: PurgeToken?

  init(_ configuration: GatewayConfiguration) throws(SecretFileProblem) {
    let (keyFile, tokenFile) = (configuration.keyFile, configuration.tokenFile)
    keys = keyFile.isEmpty ? .none : try SigningKeys.read(path: keyFile)
    token = tokenFile.isEmpty ? nil : try PurgeToken(SecretFile.read(tokenFile, for: "TokenFile"))
  }
}

/// The numbers that the gateway itself counts, for its metrics.
package struct GatewayCounters: Equatable {
  package var server = HTTPCounters()
  /// Bytes of pictures in answers.
  package var bytesSent = 0
  /// Answers that were given again without asking the daemon.
  package var held = 0
  /// Requests refused because their address had too many.
  package var limited = 0
}

/// The metrics that `/metrics` has in addition to the daemon's.
enum GatewayMetrics {
  static let type = "text/plain; version=0.0.4; charset=utf-8"

  /// The whole exposition, with a newline at the end; without the daemon's metrics where it gives none.
  static func text(_ counters: GatewayCounters, of statistics: DaemonStatistics?) -> String {
    var page = statistics.map { Metrics.page(of: $0, by: "imgd-http") } ?? MetricsPage()
    page.add("imgd_up", "gauge", "Whether the daemon answers", [([], statistics == nil ? 0 : 1)])
    let server = counters.server
    let single = [
      ("connections", "gauge", "Open connections", server.connections),
      ("connections_accepted_total", "counter", "Connections accepted", server.accepted),
      ("malformed_total", "counter", "Requests that were not sound", server.malformed),
      ("left_total", "counter", "Clients that left before they had their answer", server.left),
      ("bytes_sent_total", "counter", "Bytes of pictures in answers", counters.bytesSent),
      ("held_total", "counter", "Answers given again without the daemon", counters.held),
      ("limited_total", "counter", "Requests refused for their address", counters.limited),
    ]
    page.add(
      "imgd_http_requests_total", "counter", "Requests answered, by the class of their status",
      server.answers.enumerated().map { ([("code", "\($0.offset + 1)xx")], Double($0.element)) })
    for (name, kind, help, value) in single { page.add("imgd_http_" + name, kind, help, [([], Double(value))]) }
    return page.text + "\n"
  }
}
