import Testing

@testable import ImgdCache

struct URLPartTests {
  private func isIn(_ part: String, _ url: String) -> Bool { URLPart(part).isIn(Array(url.utf8).span) }

  @Test(arguments: [
    ("/a.p", true), ("H/A", true), ("http://h/a.png", true), ("g", true), ("", true), ("h/a.pngx", false), ("b", false),
    ("ana", false),
  ])
  func `a part is found anywhere, in either case`(part: String, isThere: Bool) {
    #expect(isIn(part, "http://h/A.png") == isThere)
  }

  @Test func `no place is passed over`() {
    // All texts of two letters, up to a length: those that repeat themselves are the difficult ones.
    func texts(_ length: Int) -> [String] {
      (0..<1 << length).map { number in String((0..<length).map { number >> $0 & 1 == 0 ? "a" : "b" }) }
    }
    for part in (1...5).flatMap(texts) {
      for url in texts(9) { #expect(isIn(part, url) == url.contains(part), "\(part) in \(url)") }
    }
  }
}
