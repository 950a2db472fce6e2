import ImgdSystem
import ImgdTestSupport

/// What happened to each picture last: when one is shown that was purged, it says which purge that was, and what the origin
/// was asked since.
final class Diary: Sendable {
  private static let length = 14

  /// What happened to the house last.
  private let house = Shared<[String]>([])
  private let pages = Shared<[[String]]>(.init(repeating: [], count: Gallery.count))
  private let start = Instant.current

  private func line(_ words: String) -> String { "\(Int((Instant.current - start) / .milliseconds(1))) ms: \(words)" }

  func note(_ words: String) {
    house.with { house in
      if house.count == Self.length { house.removeFirst() }
      house.append(line(words))
    }
  }

  func note(_ pictures: some Sequence<Int>, _ words: @autoclosure () -> String) {
    let line = line(words())
    pages.with { pages in
      for picture in pictures {
        if pages[picture].count == Self.length { pages[picture].removeFirst() }
        pages[picture].append(line)
      }
    }
  }

  func page(of picture: Int) -> String {
    let lines = house.with { $0 } + ["and of the picture:"] + pages.with { $0[picture] } + [line("shown")]
    return lines.map { "\n      " + $0 }.joined()
  }
}
