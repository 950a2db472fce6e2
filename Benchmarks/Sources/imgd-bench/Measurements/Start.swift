import Glibc

/// The time from the start of the program to its first answer, and hits while the index is loaded.
///
/// The index comes from a daemon and is extended with copies of its rows; only the pictures that are
/// requested have files.
enum Start {
  private static let asked = 1_000

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(2 * asked, bytes: 28_000)
    let cache = try fill(bench, urls)
    for count in bench.scaled([10_000, 100_000, 1_000_000], quick: [10_000]) {
      try Imgd.multiply(cache, to: count, bench)
      try measure(bench, cache, count, urls)
    }
    try peer(bench, origin, bench.scaled(10_000, quick: 1_000))
  }

  private static func fill(_ bench: Bench, _ urls: [String]) throws(BenchFailure) -> String {
    let imgd = try Imgd(bench, settings: Imgd.roomy)
    try imgd.fetchAll(urls)
    try imgd.awaitStored(urls.count)
    imgd.child.end()
    return imgd.cache
  }

  private static func measure(
    _ bench: Bench, _ cache: String, _ count: Int, _ urls: [String]
  ) throws(BenchFailure) {
    var starts: [Launch] = []
    for _ in 0..<bench.options.rounds {
      starts.append(try Launch(bench, cache, count, urls))
    }
    Comparison(entries: short(count), starts: starts).tell(bench.report)
  }

  private static func short(_ count: Int) -> String {
    count >= 1_000_000 ? "\(count / 1_000_000)M" : "\(count / 1_000)k"
  }

  /// Two starts: one without requests until the index is loaded, one with requests at once.
  private struct Launch {
    let ready: Double
    let loaded: Double
    let residentWhenReady: Double
    let residentWhenLoaded: Double
    /// Hits right after the first answer, and as many others when the index is loaded.
    let early: LoadResult
    let late: LoadResult

    init(
      _ bench: Bench, _ cache: String, _ count: Int, _ urls: [String]
    ) throws(BenchFailure) {
      let start = now()
      var imgd = try Imgd(bench, settings: Imgd.roomy, cache: cache)
      ready = now() - start
      let facts = ProcessMeter(imgd.child)
      residentWhenReady = Double(try facts.residentBytes)
      try imgd.awaitLoaded()
      loaded = now() - start
      residentWhenLoaded = Double(try facts.residentBytes)
      imgd.child.end()
      imgd = try Imgd(bench, settings: Imgd.roomy, cache: cache)
      early = try imgd.hits(Array(urls.prefix(asked)), deliver: "path").askOnce(.alone)
      try imgd.awaitLoaded()
      let known = try imgd.stat("disk", "entries")
      late = try imgd.hits(Array(urls.suffix(asked)), deliver: "path").askOnce(.alone)
      guard known == count, try imgd.stat("downloads", "started") == 0 else {
        throw .unavailable("it knows \(known) of \(count) entries, or has fetched some anew")
      }
      imgd.child.end()
    }
  }

  private struct Comparison {
    let entries: String
    let starts: [Launch]

    func tell(_ report: BenchReport) {
      add(report, "ready", "s", \.ready, "100 ms", 0.1, .atMost(1))
      add(report, "all loaded", "s", \.loaded, "1 s", 1)
      add(report, "resident when ready", "B", \.residentWhenReady, "12 MB", 12e6)
      add(report, "resident when loaded", "B", \.residentWhenLoaded, "12 MB", 12e6)
      for (name, path) in [
        ("p50", \LoadResult.p50), ("p99", \LoadResult.p99), ("worst", \LoadResult.worst),
      ] {
        let early = starts.map { $0.early[keyPath: path] }
        report.add(
          Row(
            what: "\(entries): first hits, \(name)", figure: Figure(median(early), "s"),
            peer: "when all is loaded",
            ratios: Ratios(early, to: starts.map { $0.late[keyPath: path] })
          ))
      }
      report.note("the first hits took \(Figure(median(starts.map(\.early.seconds)), "s").text)")
    }

    private func add(
      _ report: BenchReport, _ what: String, _ unit: String, _ path: KeyPath<Launch, Double>,
      _ peer: String, _ least: Double, _ budget: Budget? = nil
    ) {
      let figures = starts.map { $0[keyPath: path] }
      report.add(
        Row(
          what: "\(entries): \(what)", figure: Figure(median(figures), unit), peer: peer,
          ratios: Ratios(figures.map { $0 / least }), budget: budget))
    }
  }

  // MARK: The peer

  /// nginx answers at once too; it loads its cache in another process, a minute after its start.
  private static func peer(
    _ bench: Bench, _ origin: Nginx, _ count: Int
  ) throws(BenchFailure) {
    guard !bench.options.isQuick else { return bench.report.note("nginx takes a minute: not now") }
    let urls = try origin.addPictures(count, bytes: 1_000)
    let filled = try CachingNginx(bench, origin: origin)
    _ = try filled.hits(urls).askOnce(Shape(connections: 16, depth: 1))
    filled.child.end()
    let start = now()
    let nginx = try CachingNginx(bench, origin: origin, cache: filled.cache)
    let ready = now() - start
    for _ in 0..<120_000 where !nginx.isLoaded { usleep(1_000) }
    let loaded = now() - start
    for (what, seconds) in [("ready", ready), ("all loaded", loaded)] {
      bench.report.add(
        Row(
          what: "nginx, \(short(count)): \(what)", figure: Figure(seconds, "s"), peer: "1 s",
          ratios: Ratios([seconds])))
    }
  }
}
