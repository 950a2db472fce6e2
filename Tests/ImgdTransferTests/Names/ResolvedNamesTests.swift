import ImgdSystem
import Testing

@testable import ImgdTransfer

struct ResolvedNamesTests {
  private let start = Instant(nanoseconds: 0)

  @Test func `addresses are used for a minute`() {
    var names = ResolvedNames()
    names.add([.v4(1)], for: "a", at: start)
    #expect(names["a", at: start + .seconds(59)] == [.v4(1)])
    #expect(names["a", at: start + .seconds(60)] == nil)
    #expect(names["b", at: start] == nil)
    names.add([.v4(2)], for: "a", at: start + .seconds(70))
    #expect(names["a", at: start + .seconds(129)] == [.v4(2)])
  }

  @Test func `addresses of so many names are kept, those that were found last`() {
    var names = ResolvedNames()
    for index in 0..<5_000 {
      names.add([.v4(UInt32(index))], for: "\(index)", at: start + .milliseconds(index))
    }
    #expect(names.count == ResolvedNames.most)
    #expect(names["4999", at: start + .seconds(5)] == [.v4(4_999)])
    #expect(names["0", at: start + .seconds(5)] == nil)
  }

  @Test func `addresses that are found again and again are kept once`() {
    var names = ResolvedNames()
    for index in 0..<5_000 { names.add([.v4(7)], for: "a", at: start + .milliseconds(index)) }
    #expect(names.count == 1)
    #expect(names["a", at: start + .seconds(5)] == [.v4(7)])
  }
}
