import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// What daemon and gateway hold, and how long a hit takes, over the hours.
final class Samples {
  struct Sample {
    let second: Double
    let daemon: ProcessFacts
    let gateway: ProcessFacts
    /// How long a hit in memory takes; nil where there was none.
    let median: Double?
    let p99: Double?
    /// The daemon's life.
    let life: Int
  }

  private(set) var all: [Sample] = []
  private let house: House
  private let ledger: Ledger
  private let witness: Witness
  private let start = Instant.current

  init(of house: House, _ witness: Witness, _ ledger: Ledger) {
    self.house = house
    self.witness = witness
    self.ledger = ledger
  }

  /// Looks at both, and whether the daemon keeps to its limits.
  func add() {
    let latencies = witness.takeLatencies().map { Double($0 / .microseconds(1)) }
    all.append(
      Sample(
        second: (Instant.current - start) / .seconds(1), daemon: ProcessFacts(house.daemon.pid),
        gateway: ProcessFacts(house.gateway.pid), median: latencies.isEmpty ? nil : latencies[latencies.count / 2],
        p99: latencies.isEmpty ? nil : latencies[latencies.count * 99 / 100], life: house.life.with { $0 }))
    guard let stats = try? house.daemon.connect().ask(#"{"cmd":"stats"}"#) else { return }
    checkLimits(stats)
  }

  private func checkLimits(_ stats: JSONValue) {
    let limits = [
      ("memory", "bytes", "capacity"), ("downloads", "active", "max_active"), ("decode", "workers", "max_workers"),
    ]
    for (object, value, limit) in limits {
      guard let held = stats[object]?[value]?.integer, let most = stats[object]?[limit]?.integer else { continue }
      // Downloads that hang take no place (docs/protocol.md).
      let slow = stats[object]?["slow"]?.integer ?? 0
      if held - slow > most { ledger.wrong("\(object).\(value) is \(held), more than \(most)") }
    }
  }

  // MARK: What they come to

  var minutes: Double { (all.last?.second ?? 0) / 60 }

  /// By how much a program's memory grows in an hour, by least squares over the samples of the daemon's last life.
  func growth(of program: KeyPath<Sample, ProcessFacts>) -> (bytesAnHour: Double, hours: Double)? {
    let life = all.last?.life
    let points = all.filter { $0.life == life }.map {
      (hour: $0.second / 3_600, bytes: Double($0[keyPath: program].anonymousBytes))
    }
    guard let first = points.first, let last = points.last, points.count > 10 else { return nil }
    let count = Double(points.count)
    let middle = points.reduce(0) { $0 + $1.hour } / count
    let mean = points.reduce(0) { $0 + $1.bytes } / count
    let spread = points.reduce(0) { $0 + ($1.hour - middle) * ($1.hour - middle) }
    let together = points.reduce(0) { $0 + ($1.hour - middle) * ($1.bytes - mean) }
    return (together / spread, last.hour - first.hour)
  }
}
