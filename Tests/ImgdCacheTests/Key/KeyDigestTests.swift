import ImgdSystem
import Testing

@testable import ImgdCache

struct KeyDigestTests {
  /// Computed elsewhere: with another result no file of an older program would be found again.
  @Test(arguments: [
    ("http://a/", nil, "0a6eca14e62f703d31df4d44ec308adf"),
    ("http://a/", "x", "dc1edc778394a99f373ca3405f89014c"),
    ("https://images.example/photo.jpg?size=2", nil, "3d8f2041069c3c46dec4c00aa8d2808b"),
    (
      "https://images.example/photo.jpg?size=2", "thumb é",
      "d4d900a35072277122e736fac9ad4479"
    ),
  ])
  func `a key digest never changes`(url: String, identifier: String?, hex: String) {
    #expect(KeyDigest(url: url, identifier: identifier).hex == hex)
  }

  @Test func `an empty identifier means no identifier`() {
    #expect(
      KeyDigest(url: "http://a/", identifier: "") == KeyDigest(url: "http://a/", identifier: nil))
  }

  @Test func `the parts of a key are kept apart in the digest`() {
    let digests: Set = [
      KeyDigest(url: "http://a/b", identifier: "c"), KeyDigest(url: "http://a/", identifier: "bc"),
      KeyDigest(url: "http://a/bc", identifier: nil),
      KeyDigest(url: "http://a/\0\0\0\u{1}c", identifier: nil),
      KeyDigest(url: "http://a/", identifier: "c"), KeyDigest(url: "", identifier: "http://a/c"),
    ]
    #expect(digests.count == 6)
  }

  @Test(
    arguments: [
      (0, 0), (1, 2), (.max, .max), (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210), (0, 1 << 63),
    ] as [(UInt64, UInt64)])
  func `a key digest is read back from its digits`(high: UInt64, low: UInt64) {
    let digest = KeyDigest(high: high, low: low)
    #expect(digest.hex.utf8.count == 32)
    #expect(KeyDigest(hex: digest.hex) == digest)
  }

  @Test func `a key digest is only read from thirty-two lower case digits`() {
    let hex = "0123456789abcdef0123456789abcdef"
    #expect(KeyDigest(hex: hex) != nil)
    for end in 0..<32 { #expect(KeyDigest(hex: hex.prefix(end)) == nil, "\(end) digits") }
    #expect(KeyDigest(hex: hex + "0") == nil)
    for wrong in ["A", "g", " ", "+", "/", ":", "`", "\0", "é"] {
      for place in 0..<32 {
        #expect(KeyDigest(hex: hex.prefix(place) + wrong + hex.dropFirst(place + 1)) == nil)
      }
    }
  }
}

struct BodyChecksumTests {
  @Test(
    arguments: [
      ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
      ("abcdefg", 0x1860_940E_2902_822D),
      ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
      (String(repeating: "0123456789", count: 10), 0xF80E_7B96_315A_FFFA),
    ] as [(String, UInt64)])
  func `a body checksum is an XXH64`(text: String, value: UInt64) {
    #expect(BodyChecksum(of: Payload(Array(text.utf8))) == BodyChecksum(value))
  }

  @Test func `a body checksum is the same on the heap and in shared memory`() throws {
    let payload = Payload(body(5_000))
    #expect(BodyChecksum(of: payload) == BodyChecksum(of: try payload.shareable()))
  }

  @Test(arguments: [0, 1, 31, 32, 33, 63, 64, 65, 200, 4_097])
  func `a checksum that is computed in parts is the same`(count: Int) {
    let payload = Payload(body(count))
    for most in [0, 32, 40, 64, 5_000] {
      var sum = PartialChecksum(of: payload)
      var result: BodyChecksum?
      var steps = 0
      while result == nil, steps <= count / 32 + 1 {
        result = sum.addBytes(most: most)
        steps += 1
      }
      #expect(result == BodyChecksum(of: payload), "in parts of \(most)")
    }
  }

  @Test func `every byte changes the checksum`() {
    let bytes = body(300)
    let sum = BodyChecksum(of: Payload(bytes))
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1
      #expect(BodyChecksum(of: Payload(changed)) != sum)
    }
  }
}
