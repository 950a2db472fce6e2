import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

@Suite(.nginxRunning)
struct EncryptedTests {
  private func bench(_ change: (inout TransferSettings) -> Void = { _ in }) throws -> TransferBench {
    let authority = try NginxOrigin.current().certificates.authority
    return try TransferBench(
      .with { settings in
        settings.caFile = authority
        change(&settings)
      })
  }

  @Test func `encrypted transfers speak HTTP/2 where it is offered`() throws {
    let nginx = try NginxOrigin.current()
    let result = try bench().fetch(nginx.url(.good, "/a.png"))
    #expect(result.bytes == sample(100_000))
    #expect(result.head["x-protocol"] == "HTTP/2.0")
    #expect(result.head.status == 200)
  }

  @Test func `encrypted transfers reuse a connection, for redirects and for many at once`() throws {
    let nginx = try NginxOrigin.current()
    let bench = try bench()
    let first = try bench.fetch(nginx.url(.good, "/protocol")).text
    let target = try bench.redirect(nginx.url(.good, "/away")).target
    #expect(try bench.fetch(target).text == first)
    let serials = (0..<50).map { _ in bench.begin(nginx.url(.good, "/protocol")) }
    for serial in serials {
      guard case .received(let result) = try bench.outcome(of: serial) else {
        throw TestFailure("not received")
      }
      #expect(result.text == first)
    }
  }

  @Test func `encrypted transfers go to the host under each of its names`() throws {
    let nginx = try NginxOrigin.current()
    #expect(try bench().fetch(nginx.url(.good, "/a.png", host: "localhost")).payload.count > 0)
  }

  @Test(arguments: [NginxOrigin.Site.otherName, .expired, .selfSigned, .oldProtocol])
  func `encrypted transfers fail without a trusted certificate`(site: NginxOrigin.Site) throws {
    let nginx = try NginxOrigin.current()
    let failure = try bench { $0.retries = 2 }.failure(nginx.url(site, "/a.png?key=secret"))
    #expect(failure.kind == .tls, "\(failure)")
    #expect(failure.message.contains("127.0.0.1"))
    #expect(!failure.message.contains("secret"))
    #expect(failure.retries == 0)
  }

  @Test func `encrypted transfers trust only the file of certificates`() throws {
    let nginx = try NginxOrigin.current()
    let system = try TransferBench()
    #expect(try system.failure(nginx.url(.good, "/a.png")).kind == .tls)
    let missing = try bench { $0.caFile = "/nowhere/ca.pem" }
    let failure = try missing.failure(nginx.url(.good, "/a.png"))
    #expect(failure.kind == .tls)
    // The fault is the daemon's, not the origin's.
    #expect(failure.message.contains("cannot read certificates from /nowhere/ca.pem"))
    #expect(!failure.message.contains("127.0.0.1"))
  }

  @Test func `a plain request to an encrypted port fails`() throws {
    let nginx = try NginxOrigin.current()
    let plain = nginx.url(.good, "/a.png").replacing("https://", with: "http://")
    #expect(try bench().failure(plain).status == 400)
  }

  @Test func `encrypted transfers continue a partial body`() throws {
    let nginx = try NginxOrigin.current()
    let bench = try bench()
    let stalling = nginx.url(.good, "/stalling/a.png")
    let failure = try bench.failure(stalling, deadline: .seconds(4))
    #expect(failure.kind == .timeout(.body))
    let result = try bench.fetch(stalling)
    #expect(result.bytes == sample(100_000))
    #expect(result.resumedFrom >= 50_000)
    #expect(result.resumedFrom == failure.received)
  }

  @Test func `encrypted transfers over one connection stop at their own limits`() throws {
    let nginx = try NginxOrigin.current()
    let bench = try bench()
    let serials = (0..<8).map { index in
      bench.begin(nginx.url(.good, "/a.png"), maxBytes: index % 2 == 0 ? 50_000 : 100_000)
    }
    for (index, serial) in serials.enumerated() {
      switch try bench.outcome(of: serial) {
      case .failed(let failure): #expect(failure.kind == .tooLarge && index % 2 == 0)
      case .received(let result): #expect(result.payload.count == 100_000 && index % 2 == 1)
      case .redirected: Issue.record("\(index) was redirected")
      }
    }
  }
}
