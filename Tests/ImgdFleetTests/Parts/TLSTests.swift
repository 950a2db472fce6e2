import Glibc
import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Connections with TLS to a real redis-server.
struct TLSTests {
  private static let address = "127.0.0.1"
  private static var still: LoopClock { .manual(at: Instant(nanoseconds: 1_000_000_000_000)) }

  private let directory = TemporaryDirectory()
  private let certificates: TestCertificates
  private let loop: EventLoop

  init() throws {
    SignalWatch.block([SIGPIPE])
    certificates = try TestCertificates(in: directory.path)
    // No time passes, so that nothing is late however busy the machine is.
    loop = try EventLoop(clock: Self.still)
  }

  private var trusted: TLSSettings { TLSSettings(caFile: certificates.authority) }

  private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

  // MARK: The stage

  private struct Server {
    let redis: RedisServer
    let port: Int
  }

  /// A server whose certificate is for a host, and its place.
  private func serve(
    _ host: String = "IP:127.0.0.1", days: Int = 2,
    options: [String] = ["--tls-auth-clients", "no"]
  ) throws -> Server {
    try certificates.sign("server", for: host, days: days)
    // Free for now; nobody else may have it before the server does, which would not start then.
    let port = try PassedListener().port
    let redis = try RedisServer(
      RedisServer.rules + [
        "--tls-port", "\(port)", "--tls-cert-file", path("server.pem"), "--tls-key-file",
        path("server.key"), "--tls-ca-cert-file", certificates.authority,
      ] + options)
    return Server(redis: redis, port: port)
  }

  private func place(_ port: Int, _ settings: TLSSettings, name: String = address) -> ServerPlace {
    .tls(address: Self.address, port: port, serverName: name, settings)
  }

  private func connect(_ place: ServerPlace) throws -> RedisConnection {
    try RedisConnection(
      to: place, on: loop, limits: RedisConnection.Limits(reply: 20 << 20, output: 20 << 20))
  }

  /// Turns the loop until something is there.
  private func wait<R>(_ what: String, _ found: () -> R?) throws -> R {
    let deadline = Patience.end
    while true {
      if let found = found() { return found }
      guard Instant.current < deadline else { throw TestFailure("no \(what)") }
      loop.tick(waiting: true)
    }
  }

  private func ask(_ connection: RedisConnection, _ command: RedisCommand) throws -> RedisReply {
    var reply: RedisReply?
    connection.send(command) { reply = $0 }
    return try wait("reply") { reply }
  }

  /// Why there is no connection to a place.
  private func trouble(_ place: ServerPlace) throws -> FleetTrouble {
    let connection = try connect(place)
    var trouble: FleetTrouble?
    connection.onEnd = { trouble = $0 }
    connection.send(RedisCommand("PING")) { _ in }
    return try wait("end") { trouble }
  }

  // MARK: What works

  @Test func `a server with a certificate of the authority for its address is used`() throws {
    let server = try serve()
    let connection = try connect(place(server.port, trusted))
    #expect(try ask(connection, RedisCommand("PING")) == .word("PONG"))
    connection.close()
    #expect(try server.redis.command("PING") == .word("PONG"))
  }

  @Test func `a server is known by its name`() throws {
    let server = try serve("DNS:cache.example.org")
    let connection = try connect(place(server.port, trusted, name: "cache.example.org"))
    #expect(try ask(connection, RedisCommand("PING")) == .word("PONG"))
    var other = trusted
    other.serverName = "cache.example.org"
    let named = try connect(place(server.port, other))
    #expect(try ask(named, RedisCommand("PING")) == .word("PONG"))
  }

  @Test func `large values go both ways`() throws {
    let server = try serve()
    let connection = try connect(place(server.port, trusted))
    let picture = TestedPicture(count: 3_000_000)
    var command = RedisCommand("SET", "a")
    command.add(try #require(picture.front), picture.payload)
    #expect(try ask(connection, command) == .word("OK"))
    var (reply, parts): (RedisReply?, Int) = (nil, 0)
    connection.send(RedisCommand("GET", "a"), arriving: { parts += 1 }, then: { reply = $0 })
    guard case .value(let value) = try wait("value", { reply }) else {
      throw TestFailure("no value")
    }
    #expect(value.payload?.bytes == picture.payload.bytes && parts > 0)
  }

  @Test func `a certificate of this host is shown to a server that asks for one`() throws {
    let server = try serve(options: ["--tls-auth-clients", "yes"])
    try certificates.sign("host", for: "DNS:host")
    var settings = trusted
    settings.certificateFile = path("host.pem")
    settings.keyFile = path("host.key")
    let connection = try connect(place(server.port, settings))
    #expect(try ask(connection, RedisCommand("PING")) == .word("PONG"))
  }

  // MARK: What does not

  @Test func `a certificate of another authority is refused, and the key is named`() throws {
    let server = try serve()
    let other = TemporaryDirectory()
    let wrong = try TestCertificates(in: other.path)
    for settings in [TLSSettings(caFile: wrong.authority), TLSSettings()] {
      let trouble = try trouble(place(server.port, settings))
      #expect(trouble.phase == .refused)
      // Redis sends the authority's certificate as well, so there may be two reasons.
      #expect(trouble.reason.hasPrefix("the certificate of 127.0.0.1: "))
      #expect(trouble.reason.hasSuffix(": set Fleet.CAFile="))
    }
  }

  @Test(arguments: ["DNS:cache.example.org", "IP:127.0.0.2"])
  func `a certificate for somebody else is refused`(host: String) throws {
    let server = try serve(host)
    for name in [Self.address, "other.example.org"] {
      let trouble = try trouble(place(server.port, trusted, name: name))
      #expect(trouble.phase == .refused)
      #expect(trouble.reason.contains("the certificate of \(name): "))
      #expect(trouble.reason.contains("mismatch: set Fleet.ServerName="))
    }
  }

  @Test func `a certificate that has expired is refused`() throws {
    let server = try serve(days: -1)
    let trouble = try trouble(place(server.port, trusted))
    #expect(trouble.phase == .refused && trouble.reason.contains("certificate has expired"))
  }

  @Test(arguments: ["TLSv1.2", "TLSv1.3"])
  func `a server that asks for a certificate in vain is named with the key`(version: String) throws {
    let server = try serve(options: ["--tls-auth-clients", "yes", "--tls-protocols", version])
    let trouble = try trouble(place(server.port, trusted))
    #expect(trouble.phase == .refused)
    #expect(trouble.reason.contains("set Fleet.CertificateFile= and Fleet.KeyFile="))
  }

  @Test func `a server without TLS is refused`() throws {
    let server = try BreakingPort(.garbled)
    let trouble = try trouble(place(server.port, trusted))
    #expect(trouble.phase == .refused && trouble.reason.contains("it speaks no TLS at this port"))
  }

  @Test(arguments: [BreakingPort.End.closed, .reset])
  func `a server that ends the connection is down`(end: BreakingPort.End) throws {
    let server = try BreakingPort(end)
    #expect(try trouble(place(server.port, trusted)).phase == .down)
  }

  @Test func `a server that has to be spoken to with TLS is asked about in words`() throws {
    let server = try serve()
    let trouble = try trouble(.tcp(address: "127.0.0.1", port: server.port))
    #expect(trouble.phase == .down && trouble.reason.hasSuffix("does it speak TLS there (rediss://)?"))
  }

  /// A Redis without TLS waits for the end of the line.
  @Test func `a server that says nothing is asked about in words`() throws {
    let clock = Self.still
    let loop = try EventLoop(clock: clock)
    let silent = try PassedListener()
    let connection = try RedisConnection(
      to: place(silent.port, trusted), on: loop, limits: RedisConnection.Limits(reply: 1_000))
    var trouble: FleetTrouble?
    connection.onEnd = { trouble = $0 }
    loop.settle()
    clock.advance(by: .milliseconds(1_500))
    loop.settle()
    #expect(trouble?.phase == .down && trouble?.reason.contains("tls-port") == true)
  }

  @Test func `a file that cannot be used is named with its key`() throws {
    let nowhere = path("nowhere")
    let cases = [
      ("CAFile", TLSSettings(caFile: nowhere)),
      ("CertificateFile", TLSSettings(certificateFile: nowhere)),
      ("KeyFile", TLSSettings(certificateFile: certificates.authority, keyFile: nowhere)),
    ]
    for (key, settings) in cases {
      let trouble = #expect(throws: FleetTrouble.self) { try connect(place(1, settings)) }
      #expect(trouble?.phase == .refused)
      #expect(trouble?.reason.hasPrefix("Fleet.\(key)=\(nowhere) cannot be used: ") == true)
    }
  }
}
