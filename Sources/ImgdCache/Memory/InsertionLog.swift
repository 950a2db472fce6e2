/// The places of a tier in the order in which they were filled, for reading page by page.
///
/// A removal leaves a gap, which is found by its number; when most are gaps they are swept out, so
/// that the log stays in proportion to what it describes.
struct InsertionLog {
  struct Record {
    let number: UInt64
    let place: Int
  }

  private var records: [Record] = []
  private(set) var last: UInt64 = 0

  init() {}

  /// The next insertion's number.
  mutating func append(place: Int) -> UInt64 {
    last += 1
    records.append(Record(number: last, place: place))
    return last
  }

  /// Forgets what is no longer there, when that is most of it.
  mutating func sweep(live: Int, isLive: (Record) -> Bool) {
    guard records.count > 2 * live + 64 else { return }
    records.removeAll { !isLive($0) }
  }

  /// The records after a number, oldest first.
  func records(after number: UInt64) -> ArraySlice<Record> {
    var low = 0
    var high = records.count
    while low < high {
      let middle = (low + high) / 2
      if records[middle].number <= number { low = middle + 1 } else { high = middle }
    }
    return records[low...]
  }
}
