import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

@Suite
struct RedirectTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `redirects are followed, and the final URL is reported`(status: Int) throws {
    origin.plan("/a", .redirect(to: "/b", status: status, body: sample(500)))
    origin.plan("/b", .redirect(to: origin.url("/c?x=1"), status: status))
    origin.plan("/c?x=1", .body(sample(9)))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(9))
    #expect(result.head.finalURL == origin.url("/c?x=1"))
    #expect(origin.connections == 1)
  }

  @Test func `redirects end at the limit, which is named`() throws {
    let bench = try TransferBench(.with { $0.maxRedirects = 3 })
    origin.plan("/loop", .redirect(to: "/loop"))
    let failure = try bench.failure(origin.url("/loop"))
    #expect(failure.kind == .tooManyRedirects)
    #expect(failure.limit == 3)
    #expect(origin.count("/loop") == 4)
    origin.plan("/1", .redirect(to: "/2"))
    origin.plan("/2", .redirect(to: "/3"))
    origin.plan("/3", .redirect(to: "/4"))
    origin.plan("/4", .body(sample(1)))
    #expect(try bench.fetch(origin.url("/1")).payload.count == 1)
  }

  @Test func `redirects may have an endless body, which is not read`() throws {
    origin.plan("/a", .endlessRedirect(to: "/b"))
    origin.plan("/b", .body(sample(3)))
    #expect(try bench.fetch(origin.url("/a"), maxBytes: 10).bytes == sample(3))
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"])
  func `redirects do not lead to other schemes`(location: String) throws {
    origin.plan("/a", .redirect(to: location))
    #expect(try bench.failure(origin.url("/a")).kind == .blockedScheme)
  }

  @Test func `redirects drop a user and a password`() throws {
    let port = origin.port
    origin.plan("/a", .redirect(to: "http://user:secret@127.0.0.1:\(port)/echo"))
    origin.plan("/echo", .echo)
    let result = try bench.fetch(origin.url("/a"))
    #expect(!result.text.lowercased().contains("authorization"))
    #expect(result.head.finalURL == origin.url("/echo"))
  }

  @Test func `redirects keep credentials within their origin`() throws {
    let other = try OriginServer()
    let fields = ["Authorization", "Cookie", "X-Key", "Referer", "X-Plain"].map {
      HeaderField($0, "v")
    }
    origin.plan("/here", .redirect(to: "/echo"))
    origin.plan("/there", .redirect(to: other.url("/on")))
    other.plan("/on", .redirect(to: "/back"))
    other.plan("/back", .redirect(to: origin.url("/echo")))
    origin.plan("/echo", .echo)
    let same = try bench.fetch(origin.url("/here"), headers: fields, credentials: ["x-key"])
    for field in fields { #expect(same.text.contains(field.name)) }
    let back = try bench.fetch(origin.url("/there"), headers: fields, credentials: ["x-key"])
    for field in fields.dropLast() { #expect(!back.text.contains(field.name)) }
    #expect(back.text.contains("X-Plain"))
    let visited = try #require(other.requests("/back").first)
    #expect(visited.header("authorization") == nil && visited.header("cookie") == nil)
    #expect(visited.header("x-key") == nil && visited.header("x-plain") == "v")
    #expect(visited.header("referer") == nil)
  }

  @Test func `redirects keep the bytes of a location`() throws {
    let location = Array("Location: /caf".utf8) + [0xe9] + Array("\r\n\r\n".utf8)
    origin.plan("/a", .raw(Array("HTTP/1.1 302 Found\r\n".utf8) + location))
    origin.plan("/caf%E9", .body(sample(3)))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(3))
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

@Suite
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

  @Test func `addresses may be private after a private one`() throws {
    let one = try OriginServer()
    let other = try OriginServer(ipv6: true)
    one.plan("/a", .redirect(to: other.url("/b")))
    other.plan("/b", .body(sample(6)))
    let bench = try TransferBench()
    #expect(try bench.fetch(one.url("/a")).bytes == sample(6))
    bench.engine.apply(denying("::1/128"))
    #expect(try bench.failure(one.url("/a")).kind == .blockedAddress)
  }

  @Test(arguments: ["169.254.169.254", "0.0.0.0", "[fe80::1]", "[::]"])
  func `forbidden addresses are refused after a redirect, too`(host: String) throws {
    let origin = try OriginServer()
    origin.plan("/a", .redirect(to: "http://\(host)/latest/meta-data"))
    let bench = try TransferBench(denying(mode: .allow))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.kind == .blockedAddress)
  }
}
