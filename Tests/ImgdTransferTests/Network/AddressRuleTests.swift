import Testing

@testable import ImgdTransfer

struct AddressRuleTests {
  private static let never = [
    "0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255", "::", "fe80::1", "febf::1", "ff02::1",
    "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "::ffff:0.0.0.0", "::ffff:224.0.0.1",
  ]
  private static let local = [
    "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.168.0.1", "192.168.255.255", "198.18.0.1",
    "198.19.255.255", "::1", "fc00::1", "fdff::1", "fec0::1", "::ffff:127.0.0.1", "::10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:c0a8:101::1", "::ffff:192.168.1.1",
  ]
  /// What the registries of special addresses do not call globally reachable, the first and the last of each.
  private static let special = [
    "192.0.0.0", "192.0.0.8", "192.0.0.11", "192.0.0.170", "192.0.0.255", "192.0.2.0",
    "192.0.2.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255",
    "192.88.99.0", "192.88.99.1", "192.88.99.255", "64:ff9b:1::",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
    "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff",
    "2001::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:1::", "2001:1::4", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "2001:4:111::1",
    "2001:10::", "2001:1f:ffff::", "2001:40::", "2001:1ff:ffff::", "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff::", "5f00::", "5f00:ffff::",
    "::ffff:0:7f00:1", "::ffff:192.0.2.1", "64:ff9b::c000:201", "2002:c000:201::1",
  ]
  /// Their neighbours, and what is reachable although a network around it is not.
  private static let reachable = [
    "191.255.255.255", "192.0.1.0", "192.0.0.9", "192.0.0.10", "192.0.3.0", "198.51.99.255",
    "198.51.101.0", "203.0.112.255", "203.0.114.0", "192.88.98.255", "192.88.100.0",
    "192.31.196.1", "192.52.193.1", "192.175.48.1", "100:1::", "2000:ffff::", "2001:1::1",
    "2001:1::2", "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::", "2001:2f:ffff::",
    "2001:30::", "2001:3f:ffff::", "2001:200::", "2001:db7:ffff::", "2001:db9::",
    "3ffe:ffff::", "3fff:1000::", "2620:4f:8000::1", "5eff:ffff::", "5f01::",
  ]
  private static let open = [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
    "191.255.255.255", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
    "198.20.0.0", "223.255.255.255", "2606:4700::1111", "fbff::1", "fe00::1",
    "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1",
  ]

  @Test(arguments: never)
  func `the address rule always refuses some addresses`(text: String) throws {
    let address = try #require(IPAddress(text))
    let everything = ["0.0.0.0/0", "::/0"].compactMap(AddressRange.init)
    for mode in [AddressRule.Mode.direct, .deny, .allow] {
      let rule = AddressRule(mode: mode, allow: everything)
      #expect(!rule.permits(address, afterPublic: false))
    }
    #expect(!address.isPublic)
  }

  @Test(arguments: local + special)
  func `the address rule treats what is not globally reachable by its mode`(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(AddressRule(mode: .direct).permits(address, afterPublic: false))
    #expect(!AddressRule(mode: .direct).permits(address, afterPublic: true))
    #expect(!AddressRule(mode: .deny).permits(address, afterPublic: false))
    #expect(AddressRule(mode: .allow).permits(address, afterPublic: true))
    #expect(!address.isPublic)
  }

  @Test(arguments: open + reachable)
  func `the address rule permits public addresses`(text: String) throws {
    let address = try #require(IPAddress(text))
    for mode in [AddressRule.Mode.direct, .deny, .allow] {
      #expect(AddressRule(mode: mode).permits(address, afterPublic: true))
    }
    #expect(address.isPublic)
  }

  @Test func `the address rule permits private networks in Allow`() throws {
    let rule = AddressRule(mode: .deny, allow: [AddressRange("10.1.0.0/16")].compactMap { $0 })
    #expect(rule.permits(try #require(IPAddress("10.1.2.3")), afterPublic: true))
    #expect(rule.permits(try #require(IPAddress("::ffff:10.1.2.3")), afterPublic: true))
    #expect(!rule.permits(try #require(IPAddress("10.2.0.1")), afterPublic: false))
  }

  @Test func `the address rule refuses networks in Deny, even if they are in Allow`() throws {
    let range = try #require(AddressRange("192.0.2.0/24"))
    let rule = AddressRule(mode: .allow, allow: [range], deny: [range])
    #expect(!rule.permits(try #require(IPAddress("192.0.2.9")), afterPublic: false))
    #expect(!rule.permits(try #require(IPAddress("64:ff9b::c000:209")), afterPublic: false))
    #expect(rule.permits(try #require(IPAddress("192.0.3.9")), afterPublic: false))
  }
}

struct AddressRangeTests {
  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.9.9.9/8", "10.0.0.1", true), ("0.0.0.0/0", "203.0.113.1", true),
    ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("::/0", "10.0.0.1", false),
    ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
    ("192.0.2.1/32", "192.0.2.1", true), ("192.0.2.0/31", "192.0.2.1", true),
    ("fc00::/7", "fdff::", true), ("fc00::/7", "fe00::", false),
    ("2001:db8::/64", "2001:db8::ffff", true), ("2001:db8::/64", "2001:db8:0:1::", false),
    ("2001:db8::8/125", "2001:db8::f", true), ("2001:db8::8/125", "2001:db8::7", false),
    ("[2001:db8::1]", "2001:db8::1", true),
  ])
  func `addresses and networks are read`(range: String, address: String, isInside: Bool) throws {
    let range = try #require(AddressRange(range))
    #expect(range.contains(try #require(IPAddress(address))) == isInside)
  }

  @Test(arguments: [
    "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8",
    "10.0.0/8", "10.0.0.0.0", "256.0.0.1", "::/129", "::1::", "example.org", "10.0.0.0/8 ",
    "10.0.0.1\0", "10.0.0.0/99999999999999999999", "[10.0.0.1", "0x7f.0.0.1", "fe80::1%lo",
  ])
  func `malformed addresses and networks are refused`(text: String) {
    #expect(AddressRange(text) == nil)
  }

  @Test(arguments: ["10.0.0.1", "2001:db8::1", "::ffff:1.2.3.4"])
  func `addresses are written in their usual notation`(text: String) throws {
    #expect(try #require(IPAddress(text)).description == text)
  }
}
