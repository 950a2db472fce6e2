import Testing

@testable import ImgdCache

/// Host names in the order of the index.
struct HostOrderTests {
  @Test(arguments: [
    ("www.example.org", "org.example.www."), ("Example.ORG", "org.example."),
    ("localhost", "localhost."), ("10.0.0.1", "10.0.0.1"), ("[::1]", "[::1]"),
    ("[FE80::A]", "[fe80::a]"), ("", ""), (".", ".."), ("a.", ".a."), ("node1", "node1"),
    ("bücher.example", "example.bücher."),
  ])
  func `the labels of a host name are reversed, and addresses are kept`(
    _ host: String, _ stored: String
  ) {
    #expect(HostOrder(host).stored == stored)
    #expect(HostOrder(stored: stored).host == HostOrder(host).host)
  }

  @Test(
    arguments: [
      ([0x61], [0x62]), ([0x61, 0xFF], [0x62]), ([0x61, 0xFE], [0x61, 0xFF]), ([0xFF], nil),
      ([0xFF, 0xFF], nil), ([], nil), ([0xC3, 0xBF], [0xC3, 0xC0]), ([0], [1]),
    ] as [([UInt8], [UInt8]?)])
  func `a range of texts ends behind the last text with its prefix`(
    _ prefix: [UInt8], _ expected: [UInt8]?
  ) {
    #expect(end(ofPrefix: prefix) == expected)
  }
}
