import ImgdSystem
import ImgdWire
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

private enum Step {
  case enqueue(UInt64, host: String, Priority)
  case setPriority(UInt64, Priority)
  case remove(UInt64)
  case apply(DownloadScheduler.Settings)
  case wait(Duration)
  case start
}

/// The scheduler and its plain model, side by side.
private final class Pair {
  private let scheduler: DownloadScheduler
  private var plain: PlainScheduler
  private var now = Instant(nanoseconds: 0)

  init(_ settings: DownloadScheduler.Settings) {
    scheduler = DownloadScheduler(settings: settings)
    plain = PlainScheduler(settings: settings)
  }

  /// How many downloads have started.
  private(set) var startedCount = 0

  var serials: [UInt64] { plain.items.map(\.serial) }
  var active: [UInt64] { plain.active.map(\.serial) }

  /// Takes a step with both and says what differs or breaks a rule.
  func take(_ step: Step) -> String? {
    switch step {
    case .enqueue(let serial, let host, let priority):
      guard scheduler.state(of: serial) == nil else { return nil }
      scheduler.enqueue(serial, host: host, priority: priority, at: now)
      plain.enqueue(serial, host: host, priority: priority, at: now)
    case .setPriority(let serial, let priority):
      scheduler.setPriority(serial, priority)
      plain.setPriority(serial, priority)
    case .remove(let serial):
      scheduler.remove(serial)
      plain.remove(serial)
    case .apply(let settings):
      scheduler.apply(settings)
      plain.settings = settings
    case .wait(let duration): now = now + duration
    case .start: return start() ?? difference
    }
    return difference
  }

  private func start() -> String? {
    let before = scheduler.activeCount
    let started = scheduler.startable(at: now)
    let expected = plain.startable(at: now)
    guard started == expected else { return "started \(started), not \(expected)" }
    startedCount += started.count
    let isWithin = scheduler.activeCount <= max(before, scheduler.settings.maxActive)
    return isWithin ? nil : "\(scheduler.activeCount) run"
  }

  private var difference: String? {
    let counts = (scheduler.activeCount, scheduler.queuedCount, scheduler.peakActive)
    let expected = (plain.active.count, plain.queued.count, plain.peakActive)
    return counts == expected ? nil : "counts \(counts), not \(expected)"
  }
}

/// The scheduler compared with a plain model of its rules.
@Suite struct DownloadSchedulerModelTests {
  @Test(arguments: 1...5)
  func `the scheduler follows its rules through a hundred thousand random steps`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pair = Pair(settings(&random))
    var serial: UInt64 = 0
    for number in 0..<20_000 {
      let step = step(&serial, pair, &random)
      guard let problem = pair.take(step) else { continue }
      Issue.record("seed \(seed), step \(number), \(step): \(problem)")
      return
    }
    #expect(pair.startedCount > 1_000)
  }

  private func step(_ serial: inout UInt64, _ pair: Pair, _ random: inout SeededGenerator) -> Step {
    let known = pair.serials.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<100, using: &random) {
    case 0: return .apply(settings(&random))
    case 1..<6: return .wait(.seconds(Int.random(in: 1...5, using: &random)))
    case 6..<25: return .setPriority(known, priority(&random))
    case 25..<32: return .remove(known)
    case 32..<42: return .remove(pair.active.randomElement(using: &random) ?? known)
    case 42..<75 where pair.serials.count < 24:
      serial += 1
      let host = "h\(Int.random(in: 0..<5, using: &random))"
      return .enqueue(serial, host: host, priority(&random))
    default: return .start
    }
  }

  private func priority(_ random: inout SeededGenerator) -> Priority {
    Priority.allCases[Int.random(in: 0..<3, using: &random)]
  }

  private func settings(_ random: inout SeededGenerator) -> DownloadScheduler.Settings {
    DownloadScheduler.Settings(
      maxActive: Int.random(in: 1...6, using: &random),
      maxPerHost: Int.random(in: 1...3, using: &random),
      order: Bool.random(using: &random) ? .fifo : .lifo, ageBound: .seconds(10))
  }

  @Test(arguments: Order.allCases)
  func `the scheduler follows its rules through all orders of six steps with three downloads`(
    order: Order
  ) {
    let settings = DownloadScheduler.Settings(maxActive: 2, maxPerHost: 1, order: order)
    let other = DownloadScheduler.Settings(
      maxActive: 1, maxPerHost: 2, order: order == .fifo ? .lifo : .fifo)
    let steps: [Step] = [
      .enqueue(1, host: "a", .low), .enqueue(2, host: "a", .normal), .setPriority(1, .high),
      .remove(1), .apply(other), .wait(.seconds(11)), .start,
    ]
    for number in 0..<(7 * 7 * 7 * 7) {
      let pair = Pair(settings)
      let chosen = [1, 7, 49, 343].map { steps[number / $0 % 7] }
      let sequence = [.enqueue(3, host: "b", .low)] + chosen + [.start]
      for step in sequence {
        guard let problem = pair.take(step) else { continue }
        Issue.record("\(sequence): \(problem)")
        return
      }
    }
  }
}
