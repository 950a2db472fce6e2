import Testing

@testable import ImgdCache

@Suite("The order of hosts")
struct HostOrderTests {
  @Test(
    "turns names round and leaves addresses",
    arguments: [
      ("www.example.org", "org.example.www."), ("Example.ORG", "org.example."),
      ("localhost", "localhost."), ("10.0.0.1", "10.0.0.1"), ("[::1]", "[::1]"),
      ("[FE80::A]", "[fe80::a]"), ("", ""), (".", ".."), ("a.", ".a."), ("node1", "node1"),
      ("bücher.example", "example.bücher."),
    ])
  func order(_ host: String, _ stored: String) {
    #expect(HostOrder(host).stored == stored)
    #expect(HostOrder(stored: stored).host == HostOrder(host).host)
  }

  @Test(
    "ends a range of texts behind the last that begins so",
    arguments: [
      ([0x61], [0x62]), ([0x61, 0xFF], [0x62]), ([0x61, 0xFE], [0x61, 0xFF]), ([0xFF], nil),
      ([0xFF, 0xFF], nil), ([], nil), ([0xC3, 0xBF], [0xC3, 0xC0]), ([0], [1]),
    ] as [([UInt8], [UInt8]?)])
  func rangeEnd(_ prefix: [UInt8], _ expected: [UInt8]?) {
    #expect(end(ofPrefix: prefix) == expected)
  }
}
