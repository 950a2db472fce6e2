import ImgdSystem

/// Writes the records of a run, in the order in which the pictures were asked for or as they come.
final class RecordPrinter {
  private let console: Console
  private let isOrdered: Bool
  /// The number of the order whose record is next.
  private var next = 0
  /// Records that came before their turn; an order may have none.
  private var early: [Int: Record?] = [:]
  private var ready: [Record] = []

  init(_ console: Console, isOrdered: Bool) {
    self.console = console
    self.isOrdered = isOrdered
  }

  /// How many records wait for an earlier one.
  var waiting: Int { early.count }

  var hasReady: Bool { !ready.isEmpty }

  /// Takes in the record with which an order ends.
  func put(_ record: Record?, of number: Int) {
    guard isOrdered else { return insert(record) }
    early[number] = .some(record)
    while let record = early.removeValue(forKey: next) {
      insert(record)
      next += 1
    }
  }

  /// Releases the records that wait for an earlier one, which will not come.
  func endOrder() {
    for number in early.keys.sorted() { insert(early[number] ?? nil) }
    early = [:]
  }

  /// Takes in a record that has no place in the order.
  func insert(_ record: Record?) { if let record { ready.append(record) } }

  /// Writes what is ready, neighbouring lines together.
  func flush() throws(SystemFailure) {
    let records = ready
    ready = []
    var text: [UInt8] = []
    for record in records {
      switch record {
      case .line(let line): text += line
      case .picture(let picture):
        if !text.isEmpty { try console.output(text) }
        text = []
        try picture.use { picture throws(SystemFailure) in try console.write(picture) }
      }
    }
    if !text.isEmpty { try console.output(text) }
  }
}
