import ImgdTestSupport

/// The servers on which a fleet stands.
final class FleetGrounds {
  enum Kind {
    /// One server.
    case one
    /// One with TLS.
    case secure
    /// One with TLS for the purges, and three for the pictures.
    case several
    /// A master with a replica that Sentinels watch: it stands still or dies now and then, and is replaced meanwhile.
    case failing
  }

  let server: RedisServer
  private(set) var pictures: [RedisServer] = []
  let address: String
  private(set) var settings: [String] = []
  private var replica: RedisServer?
  private var sentinels: RedisSentinels?
  private var certificates: TemporaryDirectory?
  private var reserved: ReservedPort?

  /// Servers at their sockets, or in a network from which lines lead to hosts. Sentinels are on this machine.
  init(_ kind: Kind, in network: PrivateNetwork? = nil) throws {
    let host = network == nil ? "127.0.0.1" : PoorLine.near
    let open = network == nil ? [] : ["--bind", "0.0.0.0", "--protected-mode", "no"]
    func place(of server: RedisServer) -> String { server.port.map { "\(host):\($0)" } ?? "unix:\(server.socket)" }
    func start(_ options: [String]) throws -> RedisServer {
      try RedisServer(options + open, onPort: network != nil, in: network)
    }
    switch kind {
    case .one:
      server = try start(RedisServer.rules)
      address = place(of: server)
    case .secure, .several:
      let (directory, reserved) = (TemporaryDirectory(), try ReservedPort())
      let authority = try TestCertificates(in: directory.path)
      try authority.sign("server", for: "IP:\(host)")
      let files = ["cert-file", "server.pem", "key-file", "server.key", "ca-cert-file", "authority.pem"]
      let options = stride(from: 0, to: files.count, by: 2).flatMap { place in
        ["--tls-\(files[place])", "\(directory.path)/\(files[place + 1])"]
      }
      server = try start(RedisServer.rules + options + ["--tls-port", "\(reserved.port)", "--tls-auth-clients", "no"])
      address = "rediss://\(host):\(reserved.port)"
      settings = ["Fleet.CAFile=\(authority.authority)"]
      (certificates, self.reserved) = (directory, reserved)
      guard kind == .several else { break }
      pictures = try (0..<3).map { _ in try start(["--maxmemory-policy", "allkeys-lfu"]) }
      settings.append("Fleet.Pictures=" + pictures.map(place).joined(separator: " "))
    case .failing:
      server = try RedisServer(RedisServer.rules + ["--repl-diskless-sync-delay", "0"], onPort: true)
      let copy = try RedisServer(
        RedisServer.rules + ["--replicaof", "127.0.0.1", "\(server.port ?? 0)"], onPort: true)
      guard
        try becomes({ try copy.command("INFO", "replication").text?.contains("master_link_status:up") == true })
      else { throw TestFailure("the replica has no copy") }
      let sentinels = try RedisSentinels(watching: server, as: "fleet")
      address = "sentinel://" + sentinels.ports.map { "127.0.0.1:\($0)" }.joined(separator: ",") + "/fleet"
      (replica, self.sentinels) = (copy, sentinels)
    }
  }

  /// The server that has the purges now.
  var master: RedisServer {
    guard let replica, let sentinels, sentinels.masterPort == replica.port else { return server }
    return replica
  }

  /// Whether the rest goes on without one of its servers.
  var hasMore: Bool { losesPurges || !pictures.isEmpty }

  /// Such a server: one for pictures, or the master.
  func expendable(using noise: inout Noise) -> RedisServer { pictures.randomElement(using: &noise) ?? master }

  /// Whether purges may get lost on the way: a replica that becomes the master may lack the last ones.
  var losesPurges: Bool { replica != nil }
}
