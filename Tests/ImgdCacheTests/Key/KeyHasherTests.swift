import Testing

@testable import ImgdCache

@Suite("The hash of a key")
struct KeyHasherTests {
  private func hash(_ parts: String..., seed: KeyHasher.Seed = (0x9E37_79B9_7F4A_7C15, 7)) -> UInt64
  {
    var hasher = KeyHasher(seed)
    for part in parts { hasher.take(part) }
    return hasher.finish()
  }

  @Test("every byte of every length counts")
  func everyByteCounts() {
    for length in 1...70 {
      let text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
      var seen: Set<UInt64> = [hash(String(decoding: text, as: UTF8.self))]
      for place in 0..<length {
        var changed = text
        changed[place] = UInt8(ascii: "b")
        seen.insert(hash(String(decoding: changed, as: UTF8.self)))
      }
      #expect(seen.count == length + 1)
    }
  }

  @Test("parts and their order count, however they run together")
  func parts() {
    let all = [
      hash("ab", "c"), hash("a", "bc"), hash("abc"), hash("abc", ""), hash("", "abc"),
      hash("c", "ab"), hash(),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test("seeds part the hashes")
  func seeds() {
    #expect(hash("abc", seed: (3, 5)) != hash("abc", seed: (3, 7)))
    #expect(hash("abc", seed: (3, 5)) != hash("abc", seed: (5, 5)))
  }

  @Test("numbered URLs spread evenly over the upper bits")
  func spread() {
    var buckets = [Int](repeating: 0, count: 256)
    for number in 0..<25_600 {
      let tag = PlaceTable.tag(hash("http://example.org/pictures/\(number).jpg"))
      buckets[Int(tag >> 24)] += 1
    }
    // A hundred each on average; eight standard deviations are eighty.
    #expect(buckets.allSatisfy { (20...180).contains($0) })
  }
}
