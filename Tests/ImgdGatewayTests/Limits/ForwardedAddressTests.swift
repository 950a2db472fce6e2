import Testing

@testable import ImgdGateway

struct ForwardedAddressTests {
  private func client(_ fields: String..., peer: HTTPPeer = .unix) -> AddressKey? {
    ForwardedAddress.client(of: fields, peer: peer, trusting: [.unix])
  }

  @Test func `the last address of the last field is the client`() {
    #expect(client("192.0.2.1") == .v4(0xC000_0201))
    #expect(client("198.51.100.1, 192.0.2.1") == .v4(0xC000_0201))
    #expect(client("192.0.2.1", "198.51.100.1,\t 192.0.2.2 ") == .v4(0xC000_0202))
  }

  @Test func `a program of this machine has none`() {
    #expect(client() == nil)
    #expect(client("192.0.2.1", peer: .loopback) == nil)
    #expect(
      ForwardedAddress.client(of: ["192.0.2.1"], peer: .loopback, trusting: [.unix, .loopback])
        != nil)
  }

  @Test func `a peer on another machine is itself the client, unless it is a trusted proxy`() {
    let peer = HTTPPeer.network(.v4(0xC633_6401))
    #expect(client(peer: peer) == .v4(0xC633_6401))
    #expect(client("192.0.2.1", peer: peer) == .v4(0xC633_6401))
    #expect(
      ForwardedAddress.client(of: ["192.0.2.1"], peer: peer, trusting: [.network]) == .v4(0xC000_0201))
    #expect(ForwardedAddress.client(of: [], peer: peer, trusting: [.network]) == .v4(0xC633_6401))
  }

  @Test func `the lower half of an IPv6 address does not count`() {
    #expect(client("2001:db8:1:2::1") == .v6(0x2001_0db8_0001_0002))
    #expect(client("2001:db8:1:2::1") == client("2001:DB8:1:2:ffff::"))
    #expect(client("2001:db8:1:2::1") != client("2001:db8:1:3::1"))
    #expect(client("::ffff:192.0.2.1") == .v4(0xC000_0201))
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"),
    ("2001:db8:1:2:3::1", "2001:db8:1:2::/64"), ("::1", "0:0:0:0::/64"),
    ("ffff:ffff:ffff:ffff::", "ffff:ffff:ffff:ffff::/64"), ("no address", "unknown"),
  ])
  func `an address has a share of the decoders`(field: String, share: String) {
    #expect(client(field)?.share == share)
  }

  @Test(arguments: [
    "", " ", ",", "192.0.2.1,", "unknown", "192.0.2", "192.0.2.256", "192.0.2.1:80",
    "[2001:db8::1]", "::g",
    "192.0.2.1\0", "192.0.2.1 x", "0x7f.1", "fe80::1%eth0", "é",
  ])
  func `what is no address has a common key`(field: String) {
    #expect(client(field) == .unknown)
  }
}
