import ImgdWire

/// Waiting downloads, by priority, each priority twice: by whose turn it is and by who came first.
///
/// A line holds claims. A claim becomes void when its download starts, goes away or lines up
/// elsewhere. Void claims are dropped when they come up, or all at once when they are the greater
/// part, so that a client that enqueues and cancels for ever does not make a line grow.
struct QueueLines {
  enum Sorting: Int, CaseIterable {
    case byTurn
    case byArrival
  }

  struct Claim {
    let download: ScheduledDownload
    private let position: Int64

    init(_ download: ScheduledDownload) {
      self.download = download
      position = download.position
    }

    var holds: Bool { download.state == .queued && download.position == position }
  }

  private var heaps = [KeyedHeap<Claim>](
    repeating: KeyedHeap(), count: Priority.allCases.count * Sorting.allCases.count)

  /// The number of claims, valid and void.
  var count: Int { heaps.reduce(0) { $0 + $1.count } }

  private static func index(_ priority: Priority, _ sorting: Sorting) -> Int {
    priority.rank * Sorting.allCases.count + sorting.rawValue
  }

  mutating func insert(_ download: ScheduledDownload, _ sorting: Sorting, key: Int64) {
    heaps[Self.index(download.priority, sorting)].insert(Claim(download), key: key)
  }

  /// The claim with the smallest key.
  func first(_ priority: Priority, _ sorting: Sorting) -> Claim? {
    heaps[Self.index(priority, sorting)].first?.value
  }

  mutating func removeFirst(_ priority: Priority, _ sorting: Sorting) {
    heaps[Self.index(priority, sorting)].removeFirst()
  }

  /// The first download whose claim is valid.
  mutating func head(_ priority: Priority, _ sorting: Sorting) -> ScheduledDownload? {
    while let claim = first(priority, sorting) {
      if claim.holds { return claim.download }
      removeFirst(priority, sorting)
    }
    return nil
  }

  /// Drops void claims where they are the greater part of a line; `live` claims at most are valid.
  mutating func tidy(live: Int) {
    for index in heaps.indices where heaps[index].count > 2 * live + 16 {
      heaps[index].keep { _, claim in claim.holds }
    }
  }
}

extension Priority {
  fileprivate var rank: Int {
    switch self {
    case .low: 0
    case .normal: 1
    case .high: 2
    }
  }
}
