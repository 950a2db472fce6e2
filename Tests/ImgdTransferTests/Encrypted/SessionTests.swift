import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// How often an origin shakes hands: its own words, and the engine's count.
@Suite(.nginxRunning)
struct SessionTests {
  private let nginx: NginxOrigin
  private let bench: TransferBench

  init() throws {
    let nginx = try NginxOrigin.current()
    self.nginx = nginx
    bench = try TransferBench(
      .with { settings in
        settings.caFile = nginx.certificates.authority
        // Longer than any test.
        settings.contactPatience = .seconds(3_600)
        settings.idleTimeout = .seconds(3_600)
      })
  }

  private var holdings: TransferHoldings { bench.engine.holdings }

  /// The connections over which requests that begin at once are answered, with a dot before those of a full handshake
  /// and an `r` before the others.
  private func connections(_ site: NginxOrigin.Site, of requests: Int) throws -> Set<String> {
    let serials = (0..<requests).map { _ in bench.begin(nginx.url(site, "/session")) }
    return Set(
      try serials.map { serial in
        guard case .received(let result) = try bench.outcome(of: serial) else { throw TestFailure("not received") }
        return result.text
      })
  }

  @Test func `sixteen requests at once make one full handshake over HTTP/1`() throws {
    let connections = try connections(.serial, of: 16)
    let full = connections.filter { $0.hasPrefix(".") }.count
    #expect(full == 1)
    #expect(holdings.handshakes == full)
    #expect(holdings.resumed == connections.count - full)
    #expect(holdings.opened == connections.count)
    #expect(holdings.opened + holdings.reused == 16)
    #expect(holdings.connections == connections.count)
  }

  @Test func `sixteen requests at once share one connection over HTTP/2`() throws {
    #expect(try connections(.good, of: 16).count == 1)
    #expect(holdings.handshakes == 1)
    #expect(holdings.resumed == 0)
    #expect(holdings.opened == 1)
    #expect(holdings.reused == 15)
  }

  @Test func `a session outlives its connection, and visits to other origins`() throws {
    _ = try connections(.serial, of: 1)
    bench.engine.apply(
      .with { settings in
        settings.caFile = nginx.certificates.authority
        settings.maxConnections = 1
      })
    for site in [NginxOrigin.Site.good, .serial, .good, .serial] { _ = try connections(site, of: 1) }
    #expect(holdings.handshakes == 2)
    #expect(holdings.resumed == 3)
  }

  @Test(arguments: [NginxOrigin.Site.serial, .good])
  func `requests follow one whose answer does not come`(site: NginxOrigin.Site) throws {
    let silent = (0..<12).map { _ in bench.begin(nginx.url(site, "/silent")) }
    for _ in 0..<4 { #expect(try connections(site, of: 4).allSatisfy { $0.hasPrefix("r") == (site == .serial) }) }
    #expect(holdings.handshakes == 1)
    for serial in silent { bench.engine.abort(serial: serial) }
  }

  /// Its sessions look like others, and it declines each of them.
  @Test func `an origin that resumes no session is spoken to anew`() throws {
    for _ in 0..<2 { #expect(try connections(.forgetful, of: 4).allSatisfy { $0.hasPrefix(".") }) }
    #expect(holdings.handshakes == 8)
    #expect(holdings.resumed == 0)
  }

  @Test func `requests follow one that fails`() throws {
    let serials = (0..<4).map { _ in bench.begin(nginx.url(.selfSigned, "/session")) }
    for serial in serials { #expect(try bench.failure(of: serial).kind == .tls) }
    #expect(holdings.opened == 0)
  }
}
