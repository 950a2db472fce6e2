import ImgdConnection
import ImgdSystem

/// The transfers of a run: those under way, and how many there were.
struct TransferBoard {
  struct Transfer {
    enum State {
      case asked, queued, started, receiving, preparing

      var isMoving: Bool { self == .receiving || self == .preparing || self == .started }
    }

    let subject: String
    var state = State.asked
    var received = 0
    var expected: Int?
    /// The moment until which its host has asked to be left alone.
    var heldUntil: Instant?
    /// What else it waits for, and until when, if that is known.
    var held: (reason: String, end: Instant?)?

    /// The host with its port, as the URL has it.
    var host: String {
      let parts = subject.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count > 2, let host = parts[2].split(separator: "@").last else { return "the origin" }
      return String(host)
    }

    init(_ subject: String) { self.subject = subject }
  }

  private(set) var open: [Int: Transfer] = [:]
  private(set) var done = 0
  private(set) var failed = 0
  /// How many there will be, where that is known.
  var total: Int?
  private var bytesOfEnded = 0
  private static let mostHolds = 1000
  /// The hosts that have asked to be left alone, and until when.
  private var holds: [String: Instant] = [:]

  var received: Int { open.values.reduce(bytesOfEnded) { $0 + $1.received } }

  /// The bytes that are still to come; nil if that is not known for every transfer.
  var remaining: Int? {
    guard let total, done + open.count == total else { return nil }
    var sum = 0
    for transfer in open.values {
      guard let expected = transfer.expected else { return nil }
      sum += max(0, expected - transfer.received)
    }
    return sum
  }

  /// The transfers under way: those that have started come first; within each group, the oldest.
  var inOrder: [Transfer] {
    open.sorted { left, right in
      let (isMoving, other) = (left.value.state.isMoving, right.value.state.isMoving)
      return isMoving == other ? left.key < right.key : isMoving
    }.map { $0.value }
  }

  mutating func ask(_ number: Int, _ subject: String) { open[number] = Transfer(subject) }

  mutating func update(by event: Reply, of number: Int, at now: Instant) {
    guard var transfer = open[number] else { return }
    switch event.event {
    case "queued":
      transfer.state = .queued
      transfer.heldUntil = event.number("retry_after_ms").map { now + .milliseconds($0) }
      transfer.held = event.text("held").map { ($0, event.number("wait_ms").map { now + .milliseconds($0) }) }
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

  /// Counts a transfer that has ended, with the moment until which the host has asked to be left alone: transfers that
  /// are queued for that host wait as well.
  mutating func settle(_ number: Int, isFailed: Bool, heldUntil end: Instant? = nil) {
    done += 1
    if isFailed { failed += 1 }
    let ended = open.removeValue(forKey: number)
    bytesOfEnded += ended?.received ?? 0
    if let end, let host = ended?.host { holds[host] = end }
    // A run meets few such hosts. If there are many, the time is not shown.
    if holds.count > Self.mostHolds { holds = [:] }
  }

  /// The earliest moment at which a queued transfer's host may be asked; nil if it need not wait for that.
  func holdEnd(of transfer: Transfer) -> Instant? {
    guard transfer.state == .queued else { return nil }
    return [transfer.heldUntil, holds.isEmpty ? nil : holds[transfer.host]].compactMap { $0 }.max()
  }
}

/// The rate of a run over its last seconds.
struct TransferRate {
  private static let window = Duration.seconds(5)

  private var samples: [(at: Instant, bytes: Int)] = []

  /// Adds the total of the bytes that have come by a moment.
  mutating func add(total bytes: Int, at now: Instant) {
    samples.append((now, bytes))
    // One sample from before the window stays, so that the whole window is covered.
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// Bytes a second; nil before there is anything to compare.
  var perSecond: Int? {
    guard let first = samples.first, let last = samples.last, last.at > first.at else { return nil }
    let milliseconds = max(1, Int((last.at - first.at).milliseconds))
    return (last.bytes - first.bytes) * 1000 / milliseconds
  }
}
