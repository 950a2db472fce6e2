import ImgdSystem
import ImgdWire
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

private enum Step {
  case ask(UInt64, host: String, Claimant, Priority)
  case leave(UInt64)
  case remove(UInt64)
  case hold(String, Duration)
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

  /// The requests for each download, the last one last.
  private var requests: [UInt64: [(Claimant, Priority)]] = [:]
  /// How many downloads have started.
  private(set) var startedCount = 0

  var serials: [UInt64] { plain.items.map(\.serial) }
  var active: [UInt64] { plain.active.map(\.serial) }

  /// Takes a step with both and says what differs or breaks a rule.
  func take(_ step: Step) -> String? {
    switch step {
    case .ask(let serial, let host, let claimant, let priority):
      requests[serial, default: []].append((claimant, priority))
      if requests[serial]?.count == 1 {
        scheduler.enqueue(serial, host: host, by: claimant, priority, at: now)
        plain.enqueue(serial, host: host, by: claimant, priority, at: now)
      } else {
        scheduler.join(serial, by: claimant, priority, at: now)
        plain.join(serial, by: claimant, priority, at: now)
      }
    case .leave(let serial):
      guard let (claimant, priority) = requests[serial]?.popLast() else { return nil }
      scheduler.leave(serial, by: claimant, priority)
      plain.leave(serial, by: claimant, priority)
      if requests[serial]?.isEmpty == true { return take(.remove(serial)) }
    case .remove(let serial):
      requests[serial] = nil
      scheduler.remove(serial)
      plain.remove(serial)
    case .hold(let host, let pause):
      scheduler.hold(host, until: now + pause)
      plain.hold(host, until: now + pause)
    case .apply(let settings):
      scheduler.apply(settings)
      plain.apply(settings)
    case .wait(let duration): now = now + duration
    case .start: return start() ?? difference
    }
    return difference
  }

  private func start() -> String? {
    let before = scheduler.places.active
    let started = scheduler.startable(at: now)
    let expected = plain.startable(at: now)
    guard started == expected else { return "started \(started), not \(expected)" }
    startedCount += started.count
    let isWithin = scheduler.places.active <= max(before, scheduler.settings.maxActive)
    return isWithin ? nil : "\(scheduler.places.active) run"
  }

  private var difference: String? {
    let counts = (scheduler.places.active, scheduler.queuedCount, scheduler.places.peak)
    let expected = (plain.active.count, plain.queued.count, plain.peakActive)
    return counts == expected ? nil : "counts \(counts), not \(expected)"
  }
}

/// The scheduler compared with a plain model of its rules.
struct DownloadSchedulerModelTests {
  @Test(arguments: 1...5)
  func `the scheduler follows its rules through thirty thousand random steps`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pair = Pair(settings(&random))
    var serial: UInt64 = 0
    for number in 0..<6_000 {
      let step = step(&serial, pair, &random)
      guard let problem = pair.take(step) else { continue }
      Issue.record("seed \(seed), step \(number), \(step): \(problem)")
      return
    }
    #expect(pair.startedCount > 300)
  }

  private func step(_ serial: inout UInt64, _ pair: Pair, _ random: inout SeededGenerator) -> Step {
    let known = pair.serials.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<100, using: &random) {
    case 0: return .apply(settings(&random))
    case 1..<6: return .wait(.seconds(Int.random(in: 1...5, using: &random)))
    case 6: return .hold(host(&random), .seconds(Int.random(in: 1...9, using: &random)))
    case 7..<16 where known > 0: return .ask(known, host: "", claimant(&random), priority(&random))
    case 16..<25: return .leave(known)
    case 25..<32: return .remove(known)
    case 32..<42: return .remove(pair.active.randomElement(using: &random) ?? known)
    case 42..<75 where pair.serials.count < 24:
      serial += 1
      return .ask(serial, host: host(&random), claimant(&random), priority(&random))
    default: return .start
    }
  }

  private func host(_ random: inout SeededGenerator) -> String {
    "h\(Int.random(in: 0..<5, using: &random))"
  }

  private func claimant(_ random: inout SeededGenerator) -> Claimant {
    Claimant(
      uid: UInt32.random(in: 0..<3, using: &random),
      connection: UInt64.random(in: 0..<3, using: &random))
  }

  private func priority(_ random: inout SeededGenerator) -> Priority {
    Priority.allCases[Int.random(in: 0..<3, using: &random)]
  }

  private func settings(_ random: inout SeededGenerator) -> DownloadScheduler.Settings {
    DownloadScheduler.Settings(
      maxActive: Int.random(in: 1...7, using: &random),
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
    let (one, two) = (Claimant(uid: 1, connection: 1), Claimant(uid: 1, connection: 2))
    let steps: [Step] = [
      .ask(1, host: "a", one, .low), .ask(2, host: "a", two, .normal),
      .ask(1, host: "a", two, .high),
      .remove(1), .apply(other), .wait(.seconds(11)), .start,
    ]
    for number in 0..<(7 * 7 * 7 * 7) {
      let pair = Pair(settings)
      let chosen = [1, 7, 49, 343].map { steps[number / $0 % 7] }
      let sequence = [.ask(3, host: "b", one, .low)] + chosen + [.start]
      for step in sequence {
        guard let problem = pair.take(step) else { continue }
        Issue.record("\(sequence): \(problem)")
        return
      }
    }
  }
}
