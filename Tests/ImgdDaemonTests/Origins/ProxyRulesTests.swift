import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDaemon
@testable import ImgdTransfer

/// Which origins are reached through a proxy.
struct ProxyRulesTests {
  private static let usual = "http://proxy.example:3128"

  private func rules(noProxy: [String] = [], sections: [String: String?] = [:]) throws -> ProxyRules {
    var network = Configuration.Network()
    network.proxy = Self.usual
    network.noProxy = try noProxy.map { try OriginPattern($0) }
    var origins: [OriginPattern: Configuration.Origin] = [:]
    for (pattern, proxy) in sections { origins[try OriginPattern(pattern), default: .init()].proxy = .some(proxy) }
    return ProxyRules(network, origins: OriginRules(origins))
  }

  @Test func `all origins but some are reached through the proxy of the network`() throws {
    let rules = try rules(noProxy: ["a.example", "*.lan", "b.example:8080"])
    for (url, proxy) in [
      ("http://a.example/x", nil), ("https://a.example:81/x", nil), ("http://www.a.example/x", Self.usual),
      ("http://printer.lan/x", nil), ("http://lan/x", Self.usual), ("http://b.example:8080/", nil),
      ("http://a.example./", nil),
      ("http://b.example/", Self.usual),
    ] as [(String, String?)] {
      #expect(rules.proxy(for: try CanonicalURL.parse(url)) == proxy, "\(url)")
    }
  }

  @Test func `a section has a proxy of its own, or none`() throws {
    let socks = "socks5h://[::1]:1080"
    let rules = try rules(noProxy: ["a.example"], sections: ["a.example": socks, "b.example": nil])
    let (a, b, c) = (
      try CanonicalURL.parse("http://a.example/"), try CanonicalURL.parse("http://b.example/"),
      try CanonicalURL.parse("http://c.example/")
    )
    #expect(rules.proxy(for: a) == socks)
    #expect(rules.contact(for: a) == "[::1]")
    #expect(rules.proxy(for: b) == nil)
    #expect(rules.contact(for: b) == "b.example")
    #expect(rules.contact(for: c) == "proxy.example")
  }

  @Test func `a bucket is where its endpoint is`() throws {
    var network = Configuration.Network()
    network.proxy = Self.usual
    network.noProxy = [try OriginPattern("*.lan")]
    var origins: [OriginPattern: Configuration.Origin] = [:]
    for (bucket, endpoint) in [("near", "http://minio.lan:9000"), ("far", "https://minio.example")] {
      var origin = Configuration.Origin()
      origin.credentials = .init(value: SigningCredentials(accessKey: "a", secret: "b"), stamp: 1)
      origin.endpoint = BucketEndpoint(endpoint)
      origins[try OriginPattern("s3://\(bucket)")] = origin
      origin.endpoint = nil
      origins[try OriginPattern("s3://localhost")] = origin
    }
    let rules = ProxyRules(network, origins: OriginRules(origins))
    let (near, far) = (try CanonicalURL.parse("s3://near/a"), try CanonicalURL.parse("s3://far/a"))
    #expect(rules.proxy(for: near) == nil && rules.contact(for: near) == "minio.lan")
    #expect(try rules.proxy(for: CanonicalURL.parse("s3://localhost/a")) == Self.usual)
    #expect(rules.proxy(for: far) == Self.usual && rules.contact(for: far) == "proxy.example")
  }

  @Test func `each transfer is told its way, and the speed that its host shares`() throws {
    let stage = try CoreStage(
      "Network.Proxy=http://[::1]:1", "Origin a.example.Proxy=none", "Origin *.b.example.Bandwidth=1M",
      "Origin *.b.example.Fallback=http://a.example:8080{path}")
    for (path, host) in [("/1", "a.example"), ("/2", "x.b.example"), ("/3", "x.b.example"), ("/4", "y.b.example")] {
      stage.origin.plan(path, .picture(png()))
      _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url(path, host: host))"}"#)
    }
    let orders = stage.origin.orders
    #expect(orders.map(\.proxy) == [nil, "http://[::1]:1", "http://[::1]:1", "http://[::1]:1"])
    #expect(orders[0].throttle == nil)
    #expect(orders[1].throttle != nil)
    #expect(orders[3].throttle != nil && orders[3].throttle !== orders[1].throttle)
    // What stands in for the origin is another host.
    stage.origin.plan("/5", .status(503), .picture(png()))
    _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/5", host: "x.b.example"))"}"#)
    let last = try #require(stage.origin.orders.last)
    #expect(last.url == "http://a.example:8080/5" && last.proxy == nil && last.throttle == nil)
  }

  @Test func `a host that is in use keeps its speed, and takes another one at once`() throws {
    let stage = try CoreStage("Origin a.example.Bandwidth=1M")
    let gate = Gate()
    for path in ["/1", "/2"] {
      stage.origin.plan(path, .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","url":"\#(stage.origin.url(path, host: "a.example"))"}"#)
    }
    let throttle = try #require(stage.origin.orders.first?.throttle)
    #expect(stage.origin.orders.last?.throttle === throttle)
    #expect(throttle.pay(for: 1 << 20, at: stage.now) == .milliseconds(900))
    try stage.apply("Origin a.example.Bandwidth=2M")
    #expect(throttle.pay(for: 2 << 20, at: stage.now) == .milliseconds(1_900))
    try stage.apply("Origin a.example.Bandwidth=")
    #expect(throttle.pay(for: 1 << 40, at: stage.now) == .zero)
    gate.open()
  }
}
