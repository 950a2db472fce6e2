import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct RedirectTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirect is an outcome, with the URL that it leads to`(status: Int) throws {
    origin.plan(
      "/a", .redirect(to: "b?x=1#part", status: status, body: sample(500)))
    let redirect = try bench.redirect(origin.url("/a"))
    #expect(redirect.target == origin.url("/b?x=1"))
    #expect(redirect.head.status == status)
    #expect(redirect.head["location"] == "b?x=1#part")
    #expect(!redirect.isFromPublicAddress)
    #expect(origin.count("/b?x=1") == 0)
  }

  @Test func `the connection serves the next request after a redirect`() throws {
    origin.plan("/a", .redirect(to: "/b", body: sample(500)))
    origin.plan("/b", .body(sample(9)))
    let redirect = try bench.redirect(origin.url("/a"))
    #expect(try bench.fetch(redirect.target).bytes == sample(9))
    #expect(origin.connections == 1)
  }

  @Test func `redirects may have an endless body, which is not read`() throws {
    origin.plan("/a", .endlessRedirect(to: "/b"))
    #expect(try bench.redirect(origin.url("/a"), maxBytes: 10).target == origin.url("/b"))
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"])
  func `redirects do not lead to other schemes`(location: String) throws {
    origin.plan("/a", .redirect(to: location))
    #expect(try bench.failure(origin.url("/a")).kind == .blockedScheme)
  }

  @Test func `redirects drop a user and a password`() throws {
    let port = origin.port
    origin.plan("/a", .redirect(to: "http://user:secret@127.0.0.1:\(port)/echo"))
    #expect(try bench.redirect(origin.url("/a")).target == origin.url("/echo"))
  }

  @Test func `redirects keep the bytes of a location`() throws {
    let location = Array("Location: /caf".utf8) + [0xe9] + Array("\r\n\r\n".utf8)
    origin.plan("/a", .raw(Array("HTTP/1.1 302 Found\r\n".utf8) + location))
    #expect(try bench.redirect(origin.url("/a")).target == origin.url("/caf%E9"))
  }

  @Test(arguments: ["a\u{9b}b.org", "a%C2%9Bb.org", "caf\u{e9}.org", "a%7Fb.org"])
  func `redirects lead only to hosts whose names are ASCII`(host: String) throws {
    origin.plan("/a", .redirect(to: "http://\(host)/"))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.kind == .badURL)
    #expect(failure.message.contains("127.0.0.1 redirects to a host"))
    #expect(failure.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x9b })
  }
}

struct AddressTests {
  private func denying(_ ranges: String..., mode: AddressRule.Mode = .direct) -> TransferSettings {
    .with { $0.addressRule = AddressRule(mode: mode, deny: ranges.compactMap(AddressRange.init)) }
  }

  @Test func `addresses are refused before anything is sent, in every notation`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench(denying(mode: .deny))
    origin.plan("/a", .body(sample(1)))
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
      let failure = try bench.failure(origin.url("/a", host: host))
      #expect(failure.kind == .blockedAddress, "\(host): \(failure)")
      #expect(failure.address != nil)
    }
    #expect(origin.connections == 0)
  }

  @Test func `addresses that are refused are skipped when the host has others`() throws {
    let origin = try OriginServer()
    origin.plan("/a", .body(sample(4)))
    let bench = try TransferBench(denying("::1/128"))
    #expect(try bench.fetch(origin.url("/a", host: "localhost")).bytes == sample(4))
  }

  @Test func `addresses are checked again when a connection is reused`() throws {
    let origin = try OriginServer()
    origin.plan("/a", .body(sample(4)))
    let bench = try TransferBench()
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(4))
    bench.engine.apply(denying("127.0.0.0/8"))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.kind == .blockedAddress)
    #expect(failure.address == "127.0.0.1")
    #expect(origin.count("/a") == 1)
    bench.engine.apply(.forTests)
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(4))
  }

  @Test func `addresses of kept connections are known`() throws {
    let origin = try OriginServer()
    origin.plan("/a", .body(sample(4)))
    let bench = try TransferBench()
    for _ in 0..<5 { _ = try bench.fetch(origin.url("/a")) }
    // Without the address of the kept connection the request would be refused and repeated.
    #expect(origin.connections == 1)
  }

  @Test func `a private address is refused where a public one has led to it`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    origin.plan("/a", .body(sample(6)))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(6))
    let failure = try bench.failure(origin.url("/a"), isAfterPublic: true)
    #expect(failure.kind == .blockedAddress)
    #expect(origin.count("/a") == 1)
  }

  @Test(arguments: [
    "169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[::]",
    "[::ffff:169.254.169.254]", "2852039166", "0xa9.0xfe.0xa9.0xfe",
  ])
  func `some addresses are always refused, in every notation`(host: String) throws {
    let bench = try TransferBench(denying(mode: .allow))
    let failure = try bench.failure("http://\(host)/latest/meta-data")
    #expect(failure.kind == .blockedAddress)
  }

  @Test func `a name that a proxy resolves counts as public`() throws {
    let proxy = try OriginServer()
    proxy.plan("http://shop.example/a", .redirect(to: "/b"))
    let bench = try TransferBench(proxy: proxy.url(""))
    #expect(try bench.redirect("http://shop.example/a").isFromPublicAddress)
  }

  @Test(arguments: ["http://127.0.0.1/a", "http://[::1]/a"])
  func `an address in a URL is checked before a proxy is asked`(url: String) throws {
    let proxy = try OriginServer()
    let bench = try TransferBench(denying(mode: .deny), proxy: proxy.url(""))
    let failure = try bench.failure(url)
    #expect(failure.kind == .blockedAddress)
    #expect(proxy.connections == 0)
  }
}
