import ImgdTestSupport
import Testing

@testable import ImgdDaemon

struct SteadyDictionaryTests {
  @Test func `it holds what a dictionary holds, whatever is added and removed`() {
    var random = SeededGenerator(seed: 1)
    var steady = SteadyDictionary<Int, Int>()
    var plain: [Int: Int] = [:]
    for step in 0..<20_000 {
      let key = Int.random(in: 0..<2_000, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: #expect(steady.removeValue(forKey: key) == plain.removeValue(forKey: key))
      case 1:
        steady.update(key) { $0 = ($0 ?? 0) % 3 == 2 ? nil : ($0 ?? 0) + 1 }
        plain[key] = (plain[key] ?? 0) % 3 == 2 ? nil : (plain[key] ?? 0) + 1
      case 2:
        steady[key] = nil
        plain[key] = nil
      default:
        steady[key] = step
        plain[key] = step
      }
      #expect(steady[key] == plain[key])
    }
    #expect(steady.count == plain.count)
    #expect((0..<2_000).allSatisfy { steady[$0] == plain[$0] })
  }

  @Test func `the room of many that have gone is given back`() {
    var steady = SteadyDictionary<Int, Int>()
    for key in 0..<20_000 { steady[key] = key }
    for key in 0..<20_000 { if key % 2 == 0 { steady[key] = nil } else { steady.removeValue(forKey: key) } }
    #expect(steady.tables.allSatisfy { $0.capacity < 64 })
  }
}
