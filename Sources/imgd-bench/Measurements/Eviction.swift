import ImgdCache

/// How many requests miss under the daemon's rules of eviction and under others, for caches of a tenth of
/// what is asked for.
///
/// The daemon's rules are played by its own order; nothing is fetched.
enum Eviction {
  private struct Rule {
    let name: String
    let cache: (_ capacity: Int) -> any SimulatedCache
  }

  private static var rules: [Rule] {
    [
      Rule(name: "LRU") { PurgedCache(.leastRecent, capacity: $0, preferredPercent: 100) },
      Rule(name: "LRU 100→60") { PurgedCache(.leastRecent, capacity: $0, preferredPercent: 60) },
      Rule(name: "LRU 100→90") { PurgedCache(.leastRecent, capacity: $0, preferredPercent: 90) },
      Rule(name: "scan-resistant 100→60") {
        PurgedCache(.scanResistant, capacity: $0, preferredPercent: 60)
      },
      Rule(name: "scan-resistant 100→90") {
        PurgedCache(.scanResistant, capacity: $0, preferredPercent: 90)
      },
      Rule(name: "SIEVE") { Sieve(capacity: $0) },
      Rule(name: "S3-FIFO") { S3FIFO(capacity: $0) },
    ]
  }

  static func run(_ bench: Bench) throws(BenchFailure) {
    let traces =
      bench.options.traces.isEmpty
      ? generated(bench)
      : try bench.options.traces.map { path throws(BenchFailure) in
        try Trace(file: path)
      }
    for trace in traces { tell(bench, trace) }
  }

  private static func generated(_ bench: Bench) -> [Trace] {
    let (pictures, requests) = (
      bench.scaled(100_000, quick: 10_000), bench.scaled(1_000_000, quick: 100_000)
    )
    let kinds: [(name: String, interlude: GeneratedTrace.Interlude)] = [
      ("Zipf", .nothing), ("Zipf and scans", .scans), ("Zipf and a loop", .loop),
      ("Zipf, five times others", .change),
    ]
    return [false, true].flatMap { hasSizes in
      kinds.map { kind in
        GeneratedTrace.make(
          kind.name + (hasSizes ? ", 1 kB–1 MB" : ""), pictures: pictures, requests: requests,
          hasSizes: hasSizes, kind.interlude)
      }
    }
  }

  private static func tell(_ bench: Bench, _ trace: Trace) {
    bench.report.note(
      "\(trace.name): \(trace.keys.count) requests for \(trace.sizes.count) pictures")
    let misses = rules.map { Self.misses(of: trace, $0.cache(trace.capacity)) }
    for (rule, ratio) in zip(rules, misses) {
      bench.report.add(
        Row(
          what: "misses, \(rule.name)", figure: Figure(100 * ratio, "%"), peer: "LRU",
          ratios: Ratios([ratio / (misses.first ?? 1)])))
    }
  }

  private static func misses(of trace: Trace, _ cache: any SimulatedCache) -> Double {
    var cache = cache
    var missed = 0
    for key in trace.keys where !cache.ask(key, size: trace.sizes[Int(key)]) { missed += 1 }
    return Double(missed) / Double(trace.keys.count)
  }
}
