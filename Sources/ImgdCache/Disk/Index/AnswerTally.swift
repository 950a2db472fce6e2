/// The rows of remembered answers and their bytes.
///
/// To count them at once would be to read all of the table when it is opened. They are counted when they
/// are read anyway, in the order of their keys; what changes behind the last one is counted later.
struct AnswerTally: Equatable {
  private(set) var rows = 0
  private(set) var bytes = 0
  /// The last key that has been counted; nil when all have.
  private var last: [UInt8]? = []

  /// Whether all rows have been counted, and there are none.
  var isEmpty: Bool { rows == 0 && last == nil }

  /// Counts a row that was found, once.
  mutating func count(_ bytes: Int, under key: [UInt8]) {
    guard !covers(key) else { return }
    last = key
    add(bytes, under: key)
  }

  /// Notes that the last row has been counted.
  mutating func finish() { last = nil }

  /// Notes that the table is empty.
  mutating func empty() {
    (rows, bytes, last) = (0, 0, nil)
  }

  /// Notes a row that has been written.
  mutating func add(_ bytes: Int, under key: [UInt8]) {
    guard covers(key) else { return }
    rows += 1
    self.bytes += bytes
  }

  /// Notes a row that has been removed.
  mutating func remove(_ bytes: Int, under key: [UInt8]) {
    guard covers(key) else { return }
    rows -= 1
    self.bytes -= bytes
  }

  private func covers(_ key: [UInt8]) -> Bool {
    guard let last else { return true }
    return !last.lexicographicallyPrecedes(key)
  }
}
