import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A fleet: daemons with caches of their own, a redis-server, and an origin whose pictures carry their
/// version.
final class FleetStage {
  let pictures: VersionedPictures
  let redis: RedisServer
  private(set) var hosts: [FleetHost] = []
  var origin: OriginServer { pictures.origin }

  /// A server that is slow for a moment costs no second request to the origin, unless a test wants that.
  static let patience = "Fleet.Timeout=10s"
  /// For a server that is to stand still, after it has answered in time on a busy machine.
  static let impatience = "Fleet.Timeout=1s"
  /// Where everything has to go well however late the server answers.
  static let usualPatience = "Fleet.Timeout=50ms"

  private let settings: [String]
  /// Where the hosts find their server; nil for its socket.
  private let address: String?

  /// `server` are further arguments of the redis-server, which may be in a network of its own; `settings` are those of
  /// each host.
  convenience init(
    hosts count: Int = 10, server arguments: [String] = [], in network: PrivateNetwork? = nil,
    settings: [String] = []
  ) throws {
    let redis = try RedisServer(RedisServer.rules + arguments, in: network)
    try self.init(hosts: count, of: redis, settings: settings)
  }

  /// Hosts of a server that is there already, which they find at an address, or else at its socket.
  init(hosts count: Int, of redis: RedisServer, at address: String? = nil, settings: [String] = []) throws {
    self.settings = [Self.patience] + settings
    self.redis = redis
    self.address = address
    pictures = try VersionedPictures()
    for _ in 0..<count { try add() }
    try awaitAll()
  }

  deinit { origin.stop() }

  /// Starts one more host, which may have another way to the server.
  @discardableResult
  func add(to server: String? = nil, wrapper: [String] = []) throws -> FleetHost {
    let host = try FleetHost(server: server ?? address ?? "unix:\(redis.socket)", settings: settings, wrapper: wrapper)
    hosts.append(host)
    return host
  }

  // MARK: Waiting

  /// Waits until each host can use the server.
  func awaitAll() throws {
    for host in hosts {
      guard try becomes({ try host.state == "ok" }) else {
        throw TestFailure("the fleet is of no use: \(try host.fleet().text)\n\(host.daemon.log)")
      }
    }
  }

  /// Waits until each host can use its servers for pictures, too.
  func awaitPictureServers() throws {
    try awaitAll()
    for host in hosts where try !becomes({ try host.pictureStates.allSatisfy { $0 == "ok" } }) {
      throw TestFailure("its servers for pictures are of no use: \(try host.fleet().text)\n\(host.daemon.log)")
    }
  }

  /// Waits until each host has applied all purges that were made before.
  ///
  /// They are applied in their order: a last one, of a picture that each host has, is the last everywhere.
  func catchUp() throws {
    for host in hosts where try !becomes({ try host.purges("pending") == 0 }) {
      throw TestFailure("its purges wait: \(try host.fleet().text)\n\(host.daemon.log)")
    }
    markers += 1
    let marker = pictures.add("/marker-\(markers)")
    for host in hosts { _ = try host.fetch(marker, #""store":"memory""#) }
    try hosts[0].purge(#""url":"\#(marker)""#)
    for (number, host) in hosts.enumerated() {
      let isThere = try becomes {
        try host.tier(of: marker) == "none" && host.purges("waiting") == 0
      }
      guard isThere else {
        throw TestFailure("host \(number) lags: \(try host.fleet().text)\n\(host.daemon.log)")
      }
    }
  }

  private var markers = 0

  // MARK: All hosts at once

  /// Sends one line to all hosts before any answer is read; their answers.
  func askAll(_ line: String) throws -> [JSONValue] {
    for host in hosts { try host.client.send(line) }
    return try hosts.map { try $0.client.receive() }
  }

  func fetchAll(_ url: String, _ fields: String = "") throws -> [JSONValue] {
    try askAll(FleetHost.request(url, fields))
  }

  /// Has all hosts show a picture and a form of it, of the newest version.
  func expectNewest(_ path: String, formFirst: Bool = true) throws {
    try expect(path, since: hosts.map { _ in pictures.version(of: path) }, formFirst: formFirst)
  }

  /// The same with the oldest version that each host may show.
  func expect(_ path: String, since versions: [Int], formFirst: Bool) throws {
    for isForm in [formFirst, !formFirst] {
      let answers = try fetchAll(origin.url(path), isForm ? VersionedPictures.form : VersionedPictures.inside)
      for (host, answer) in answers.enumerated() {
        let version =
          try isForm ? pictures.version(ofFormOf: path, in: answer) : pictures.version(of: path, in: answer)
        #expect(
          version >= versions[host],
          "host \(host) shows \(isForm ? "a form of " : "")version \(version) of \(path) from \(answer.outcome)")
      }
    }
  }

  /// Waits until the server has the picture of a URL.
  func awaitStored(_ count: Int, by host: FleetHost) throws {
    guard try becomes({ try host.count("stores") >= count }) else {
      throw TestFailure("it was not stored: \(try host.fleet().text)")
    }
  }
}
