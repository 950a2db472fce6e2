import ImgdSystem
import ImgdTestSupport

/// What happened to each picture last: when one is shown that was purged, it says which purge that was, and what the origin
/// was asked since.
final class Diary: Sendable {
  private static let length = 14

  private let pages = Shared<[[String]]>(.init(repeating: [], count: Gallery.count))
  private let start = Instant.current

  func note(_ pictures: some Sequence<Int>, _ words: @autoclosure () -> String) {
    let line = "\(Int((Instant.current - start) / .milliseconds(1))) ms: \(words())"
    pages.with { pages in
      for picture in pictures {
        if pages[picture].count == Self.length { pages[picture].removeFirst() }
        pages[picture].append(line)
      }
    }
  }

  func page(of picture: Int) -> String {
    pages.with { $0[picture] }.map { "\n      " + $0 }.joined()
      + "\n      \(Int((Instant.current - start) / .milliseconds(1))) ms: shown"
  }
}
