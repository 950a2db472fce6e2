import Testing

@testable import ImgdTransfer

@Suite
struct RouteTests {
  private func order(_ names: String..., credentials: Set<String> = []) -> TransferOrder {
    TransferOrder(
      serial: 1, url: "http://a.org/", headers: names.map { HeaderField($0, "x") },
      credentialNames: credentials, maxBytes: 1, deadline: .seconds(1))
  }

  @Test func `a route keeps credentials from other origins, even when it leads back`() throws {
    let order = order(
      "Authorization", "Cookie", "X-Key", "Referer", "X-Plain", credentials: ["x-key"])
    var route = Route(to: try TransferURL("http://a.org/"))
    try route.follow("/b", from: nil, atMost: 9)
    #expect(route.headers(of: order).count == 5)
    try route.follow("http://b.org/", from: nil, atMost: 9)
    #expect(route.headers(of: order) == [HeaderField("X-Plain", "x")])
    try route.follow("/inside", from: nil, atMost: 9)
    #expect(route.headers(of: order) == [HeaderField("X-Plain", "x")])
    try route.follow("http://a.org/", from: nil, atMost: 9)
    try route.follow("/inside", from: nil, atMost: 9)
    #expect(route.headers(of: order) == [HeaderField("X-Plain", "x")])
  }

  @Test(arguments: [("https://a.org/", 0), ("http://a.org:81/", 0), ("http://A.org:80/", 1)])
  func `a route counts scheme, host and port as the origin`(location: String, headers: Int) throws {
    var route = Route(to: try TransferURL("http://a.org/"))
    try route.follow(location, from: nil, atMost: 9)
    #expect(route.headers(of: order("Cookie")).count == headers)
  }

  @Test func `a route records that it has passed a public address`() throws {
    var route = Route(to: try TransferURL("http://a.org/"))
    try route.follow("/1", from: IPAddress("10.0.0.1"), atMost: 9)
    #expect(!route.afterPublic)
    try route.follow("/2", from: IPAddress("1.1.1.1"), atMost: 9)
    #expect(route.afterPublic)
    try route.follow("/3", from: IPAddress("10.0.0.1"), atMost: 9)
    #expect(route.afterPublic)
  }

  @Test func `a route is no longer than allowed, and names the limit`() throws {
    var route = Route(to: try TransferURL("http://a.org/"))
    try route.follow("/1", from: nil, atMost: 1)
    #expect { try route.follow("/2", from: nil, atMost: 1) } throws: { error in
      let failure = error as? TransferFailure
      return failure?.kind == .tooManyRedirects && failure?.limit == 1
    }
  }

  @Test func `a route behind a proxy checks the addresses in URLs`() throws {
    let rule = AddressRule(mode: .deny)
    #expect(throws: TransferFailure.self) {
      try Route(to: try TransferURL("http://127.0.0.1/")).check(rule)
    }
    #expect(throws: TransferFailure.self) {
      try Route(to: try TransferURL("http://[::1]/")).check(rule)
    }
    try Route(to: try TransferURL("http://localhost/")).check(rule)
  }
}
