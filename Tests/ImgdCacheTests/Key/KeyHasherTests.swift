import Testing

@testable import ImgdCache

/// The hash of a key in the memory tier.
struct KeyHasherTests {
  private func hash(_ parts: String..., seed: KeyHasher.Seed = (0x9E37_79B9_7F4A_7C15, 7)) -> UInt64 {
    var hasher = KeyHasher(seed)
    for part in parts { hasher.combine(part) }
    return hasher.finish()
  }

  @Test func `every byte of every length changes the hash`() {
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

  @Test func `the parts of a key and their order change the hash`() {
    let all = [
      hash("ab", "c"), hash("a", "bc"), hash("abc"), hash("abc", ""), hash("", "abc"),
      hash("c", "ab"), hash(),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test func `different seeds give different hashes`() {
    #expect(hash("abc", seed: (3, 5)) != hash("abc", seed: (3, 7)))
    #expect(hash("abc", seed: (3, 5)) != hash("abc", seed: (5, 5)))
  }

  @Test func `numbered URLs spread evenly over the upper bits`() {
    var buckets = [Int](repeating: 0, count: 256)
    for number in 0..<25_600 {
      let tag = PlaceTable.tag(hash("http://example.org/pictures/\(number).jpg"))
      buckets[Int(tag >> 24)] += 1
    }
    // A hundred each on average; eight standard deviations are eighty.
    #expect(buckets.allSatisfy { (20...180).contains($0) })
  }
}
