import ImgdConnection

/// The transfers of a run: those under way, and how many there were.
struct TransferBoard {
  /// One fetch that has no answer yet.
  struct Transfer {
    enum State {
      case asked, queued, started, receiving, preparing
    }

    let subject: String
    var state = State.asked
    var received = 0
    var expected: Int?

    init(_ subject: String) {
      self.subject = subject
    }
  }

  private(set) var open: [Int: Transfer] = [:]
  private(set) var done = 0
  private(set) var failed = 0
  /// How many there will be, where that is known.
  var total: Int?
  private var bytesOfEnded = 0

  /// The bytes that have come from origins.
  var received: Int { open.values.reduce(bytesOfEnded) { $0 + $1.received } }

  /// The bytes that are still to come; nil if that is not known of every transfer.
  var remaining: Int? {
    guard let total, done + open.count == total else { return nil }
    var sum = 0
    for transfer in open.values {
      guard let expected = transfer.expected else { return nil }
      sum += max(0, expected - transfer.received)
    }
    return sum
  }

  /// Those under way, the ones that move first, and otherwise the oldest first.
  var inOrder: [Transfer] {
    open.sorted { left, right in
      let (isMoving, other) = (left.value.state.isMoving, right.value.state.isMoving)
      return isMoving == other ? left.key < right.key : isMoving
    }.map { $0.value }
  }

  mutating func ask(_ number: Int, _ subject: String) {
    open[number] = Transfer(subject)
  }

  /// Takes note of an event.
  mutating func note(_ event: Reply, of number: Int) {
    guard var transfer = open[number] else { return }
    switch event.event {
    case "queued": transfer.state = .queued
    case "started": transfer.state = .started
    case "placeholder": transfer.state = .preparing
    case "progress":
      transfer.state = .receiving
      transfer.received = event.number("received") ?? transfer.received
      transfer.expected = event.number("expected")
    default: return
    }
    open[number] = transfer
  }

  mutating func end(_ number: Int, isFailed: Bool) {
    done += 1
    if isFailed { failed += 1 }
    bytesOfEnded += open.removeValue(forKey: number)?.received ?? 0
  }
}

extension TransferBoard.Transfer.State {
  fileprivate var isMoving: Bool { self == .receiving || self == .preparing || self == .started }
}
