// The path of a request: the server hands out an exchange; the router decides who answers it; a picture is read from
// its target, admitted, counted for its address, and fetched from the daemon.

import ImgdConnection
import ImgdProgram
internal import ImgdSystem

/// What the threads that serve have in common.
struct GatewayCommons: Sendable {
  let configuration: GatewayConfiguration
  let files: GatewayFiles
  let place: HTTPPlace
  /// Names the daemon's socket, for each connection to it.
  let daemon: @Sendable () -> String
  let addresses: AddressLimits
  /// Nil where no request is logged.
  let log: AccessLog?
  /// What each of them has done.
  let tallies: [GatewayTally]
  private let connections: Int
  /// How many pictures each of them may hold.
  let held: Int

  init(
    _ configuration: GatewayConfiguration, _ files: GatewayFiles, at place: HTTPPlace, log: AccessLog? = nil,
    daemon: @escaping @Sendable () -> String
  ) {
    self.configuration = configuration
    self.files = files
    self.place = place
    self.daemon = daemon
    self.log = log
    addresses = AddressLimits(maxUnderWay: configuration.maxPerAddress, rate: configuration.rate)
    let workers = configuration.workers ?? max(1, min(4, Processors.count / 2))
    connections = Self.connections(of: configuration, workers)
    tallies = (0..<min(workers, connections)).map { _ in GatewayTally() }
    let left = (Int(OpenFiles.firstReserved) - 2 * connections) / tallies.count
    held = min(max(left, HeldPictures.fewest), HeldPictures.most, HeldPictures.mostInAll / tallies.count)
  }

  /// The most connections, of which each may have a picture under way. Three quarters of the descriptors are for these
  /// and for the pictures that are held.
  private static func connections(of configuration: GatewayConfiguration, _ workers: Int) -> Int {
    let room = (Int(OpenFiles.firstReserved) - workers * HeldPictures.fewest) / 2
    guard room < configuration.maxConnections else { return configuration.maxConnections }
    Log.warning(
      .configuration, .descriptorsFew,
      "HTTP-Gateway.MaxConnections=\(configuration.maxConnections) is more than there are descriptors for: "
        + "\(max(room, workers)) are accepted (LimitNOFILE=)")
    return max(room, workers)
  }

  /// A worker's part of the connections: one that has all of its own lets the others accept.
  func connections(of worker: Int) -> Int {
    connections / tallies.count + (worker < connections % tallies.count ? 1 : 0)
  }

  var counters: GatewayCounters {
    tallies.reduce(into: GatewayCounters(limited: addresses.refused, lost: log?.lost ?? 0)) { sum, tally in
      sum.server = sum.server + tally.server.counters
      sum.bytesSent += tally.pictures.bytes.count
      sum.held += tally.pictures.held.count
    }
  }
}

/// What one thread has done.
final class GatewayTally: Sendable {
  let server = HTTPTally()
  let pictures = PictureTally()
}

/// The composition of the gateway, once for each thread that serves.
final class Gateway {
  private let server: HTTPServer
  private let page: PageHandler

  /// Begins to serve, as one of the workers.
  init(_ commons: GatewayCommons, as worker: Int, on loop: EventLoop) throws(SystemFailure) {
    let (configuration, tally) = (commons.configuration, commons.tallies[worker])
    let link = DaemonLink(on: loop, path: commons.daemon)
    let pictures = PictureHandler(
      link: link, on: loop, timeout: configuration.timeout, cors: CrossOrigins(configuration.cors),
      fallbacks: commons.files.fallbacks, fallbackStatus: configuration.fallbackStatus, room: commons.held,
      tally: tally.pictures)
    page = PageHandler(
      link: link, on: loop, access: configuration.page, token: commons.files.token,
      onPurge: { pictures.forgetHeld() }, counters: { commons.counters })
    let router = GatewayRouter(
      page: page, pictures: pictures,
      access: PictureAccess(
        allow: configuration.allow, keys: commons.files.keys, presets: configuration.presets,
        onlyPresets: configuration.onlyPresets), addresses: commons.addresses, trusted: configuration.trustedProxies,
      loop: loop)
    var limits = HTTPLimits()
    limits.connections = commons.connections(of: worker)
    limits.headTimeout = configuration.idleTimeout
    limits.idleTimeout = configuration.idleTimeout
    limits.closingTimeout = .seconds(8)
    server = try HTTPServer(
      on: loop, at: commons.place, limits: limits, tally: tally.server, log: commons.log, onRequest: router.route)
    page.gatherPast()
  }

  /// Serves on, and sends those away whom it answers.
  func leave() {
    page.isLeaving = true
    server.leave()
  }

  /// Accepts nothing new, and calls `done` when the answers under way are sent.
  func close(_ done: @escaping () -> Void) { server.close(done) }
}

/// The files that the configuration names.
struct GatewayFiles: Sendable {
  let keys: SigningKeys
  let token: PurgeToken?
  let fallbacks: FallbackPictures

  init(_ configuration: GatewayConfiguration) throws(GatewayFileProblem) {
    let (keyFile, tokenFile) = (configuration.keyFile, configuration.tokenFile)
    do throws(SecretFileProblem) {
      keys = keyFile.isEmpty ? .none : try SigningKeys.read(path: keyFile)
      token = tokenFile.isEmpty ? nil : try PurgeToken(SecretFile(tokenFile, for: "HTTP-Gateway.TokenFile").bytes)
    } catch { throw GatewayFileProblem(error.message) }
    fallbacks = try FallbackPictures(configuration.fallback)
  }
}

/// A file that the gateway cannot do without, in a sentence for the operator.
package struct GatewayFileProblem: Error, Equatable {
  package let message: String

  init(_ message: String) { self.message = message }
}

/// The numbers that the gateway itself counts, of all its threads, for its metrics.
package struct GatewayCounters: Equatable {
  package var server = HTTPCounters()
  /// Bytes of pictures in answers.
  package var bytesSent = 0
  /// Answers that were given again without asking the daemon.
  package var held = 0
  /// Requests refused because their address had too many.
  package var limited = 0
  /// Lines that the access log has lost.
  package var lost = 0
}

/// The metrics that `/metrics` has in addition to the daemon's.
enum GatewayMetrics {
  static let type = "text/plain; version=0.0.4; charset=utf-8"

  /// The whole exposition, with a newline at the end; without the daemon's metrics where it gives none.
  static func text(_ counters: GatewayCounters, of statistics: DaemonStatistics?, origins: [Reply] = []) -> String {
    var page = statistics.map { Metrics.page(of: $0, origins: origins, by: "imgd-http") } ?? MetricsPage()
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
      ("log_lost_total", "counter", "Lines that the access log has lost", counters.lost),
    ]
    page.add(
      "imgd_http_requests_total", "counter", "Requests answered, by the class of their status",
      server.answers.enumerated().map { ([("code", "\($0.offset + 1)xx")], Double($0.element)) })
    page.addHistogram(
      "imgd_http_request_duration_seconds", "Time from a request to the beginning of its answer",
      [server.held.sample(of: "held"), server.other.sample(of: "other")])
    for (name, kind, help, value) in single { page.add("imgd_http_" + name, kind, help, [([], Double(value))]) }
    return page.text + "\n"
  }
}
