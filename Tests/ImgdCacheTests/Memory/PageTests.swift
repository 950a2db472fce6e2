import Testing

@testable import ImgdCache

/// Reading a tier page by page.
struct PageTests {
  private let tier = MemoryTier.holding(100_000_000)

  private func add(_ range: Range<Int>) {
    for number in range { _ = tier.add(image("http://h/\(number)"), at: at(0)) }
  }

  private func readAll(
    limit: Int, prefix: String? = nil, part: String? = nil, between: (Int) -> Void = { _ in }
  ) -> [String] {
    var names: [String] = []
    var cursor: UInt64?
    var pages = 0
    repeat {
      let page = tier.page(after: cursor, limit: limit, prefix: prefix, containing: part.map { URLPart($0) })
      names += page.images.map { String($0.key.url.text.dropFirst(9)) }
      cursor = page.next
      pages += 1
      between(pages)
    } while cursor != nil
    return names
  }

  @Test(arguments: [1, 3, 10, 100])
  func `pages contain every image once`(limit: Int) {
    add(0..<10)
    _ = tier.image(for: key("http://h/3"), at: at(1))
    #expect(readAll(limit: limit) == (0..<10).map(String.init))
    #expect(tier.counts.hits == 1)
  }

  @Test func `insertions and removals between pages do not disturb the reading`() {
    add(0..<200)
    let names = readAll(limit: 10) { page in
      if page == 5 {
        for number in 0..<190 where number != 70 { _ = tier.remove(key("http://h/\(number)")) }
        add(300..<302)
        _ = tier.add(image("http://h/195", serial: 9), at: at(0))
      }
    }
    // What comes meanwhile takes places that became free, before the cursor or behind it.
    let there = names.filter { !["300", "301"].contains($0) }
    let expected = (0..<50).map(String.init) + ["70"] + (190..<200).map(String.init)
    #expect(there == expected)
    #expect(names.count == Set(names).count)
  }

  @Test func `a page takes a prefix and examines a limited number of images`() {
    add(0..<20)
    #expect(readAll(limit: 2, prefix: "http://h/1").count == 11)
    #expect(readAll(limit: 2, prefix: "http://i").isEmpty)
    add(20..<MemoryTier.mostExamined + 20)
    _ = tier.add(image("http://i/"), at: at(0))
    let first = tier.page(after: nil, limit: 5, prefix: "http://i")
    #expect(first.images.isEmpty && first.next != nil)
    #expect(readAll(limit: 5, prefix: "http://i").count == 1)
  }

  @Test func `a page takes a part of a URL, and examines less of long ones`() {
    add(0..<20)
    #expect(readAll(limit: 2, part: "H/1").count == 11)
    #expect(readAll(limit: 2, prefix: "http://h/1", part: "7") == ["17"])
    let long = String(repeating: "x", count: 8_000)
    for number in 0..<20 { _ = tier.add(image("http://l/\(long)\(number)"), at: at(0)) }
    #expect(tier.page(after: nil, limit: 9, containing: URLPart("none")).next != nil)
    #expect(tier.page(after: nil, limit: 9, prefix: "none").next == nil)
  }

  @Test func `pages pass over places that became free, a limited number at a time`() {
    let last = MemoryTier.mostPassed + 1
    add(0..<last + 1)
    for number in 0..<last { _ = tier.remove(key("http://h/\(number)")) }
    let first = tier.page(after: nil, limit: 5)
    #expect(first.images.isEmpty && first.next != nil)
    #expect(readAll(limit: 5) == ["\(last)"])
    #expect(tier.page(after: .max, limit: 5).images.isEmpty)
  }

  @Test func `an empty tier has an empty page`() { #expect(readAll(limit: 5).isEmpty) }
}
