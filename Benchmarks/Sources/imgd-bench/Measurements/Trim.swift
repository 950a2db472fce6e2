/// The cost of removing the least recently used pictures, by their number, and its effect on memory
/// hits.
enum Trim {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(100, bytes: 1_000)
    let setup = try Setup(bench, urls, entries: bench.scaled(200_000, quick: 5_000))
    let alone = try setup.hits(for: 1)
    var each = Double.nan
    for count in bench.scaled([1_000, 10_000, 100_000], quick: [100, 1_000]) {
      let cost = try setup.trim(count)
      if each.isNaN { each = cost.files / Double(count) }
      cost.tell(bench.report, count, alone: alone, each: each)
    }
  }

  /// The cost of one trim.
  private struct Cost {
    /// Seconds until the files are gone.
    let files: Double
    let hits: LoadResult

    func tell(_ report: BenchReport, _ count: Int, alone: LoadResult, each: Double) {
      report.add(
        Row(
          what: "\(count) pictures", figure: Figure(files, "s"), peer: "as many alone",
          ratios: Ratios([files / Double(count) / each]), budget: .atMost(1.5)))
      for (name, path, budget) in [
        ("p50", \LoadResult.p50, nil), ("p99", \LoadResult.p99, Budget.atMost(2)),
        ("worst", \LoadResult.worst, nil),
      ] {
        report.add(
          Row(
            what: "\(count), hit meanwhile \(name)", figure: Figure(hits[keyPath: path], "s"),
            peer: "alone", ratios: Ratios([hits[keyPath: path] / alone[keyPath: path]]),
            budget: budget))
      }
    }
  }

  /// A daemon with many small pictures, a few of them in memory, and a configuration to change.
  private struct Setup {
    private let bench: Bench
    private let imgd: Imgd
    private let configuration: String
    private let urls: [String]

    init(_ bench: Bench, _ urls: [String], entries: Int) throws(BenchFailure) {
      self.bench = bench
      self.urls = urls
      configuration = bench.path("imgd.conf")
      try Self.write(capacity: 1 << 40, to: configuration)
      let first = try Imgd(bench, settings: ["Disk.MinFree=0"])
      try first.fetchAll(urls)
      try first.awaitStored(urls.count)
      first.child.end()
      try Imgd.multiply(first.cache, to: entries, withFiles: true, bench)
      imgd = try Imgd(
        bench, settings: ["Disk.MinFree=0", "Disk.TrimTo=100%"], cache: first.cache,
        configuration: configuration)
      try imgd.awaitLoaded()
      try imgd.fetchAll(urls)
    }

    private static func write(capacity: Int, to path: String) throws(BenchFailure) {
      try File.write(Array("[Disk]\nCapacity=\(capacity)\n".utf8), to: path)
    }

    /// Hits at a fixed rate, so that a stall is not hidden.
    func hits(for seconds: Double) throws(BenchFailure) -> LoadResult {
      let load = Load(connections: 16, duration: seconds, interval: 1 / 2_000)
      let result = try load.run(
        on: imgd.socket, batch: imgd.hit(urls[0], deliver: "none").requests[0])
      guard result.failures == 0 else { throw .unavailable("\(result.failures) hits refused") }
      return result
    }

    func trim(_ count: Int) throws(BenchFailure) -> Cost {
      let (bytes, entries) = (try imgd.stat("disk", "bytes"), try imgd.stat("disk", "entries"))
      try Self.write(capacity: bytes - bytes / entries * count, to: configuration)
      let words = ["shrink", imgd.socket, imgd.cache, "\(entries - count)"]
      let child = try Child(
        [Options.own] + words, log: bench.path("shrink.log"))
      let hits = try hits(for: max(0.3, Double(count) / 10_000))
      guard child.wait() == 0, let seconds = Double(child.lastWords.filter { $0 != "\n" }) else {
        throw .unavailable("the trim failed: \(child.lastWords)")
      }
      let left = try imgd.stat("disk", "entries")
      guard abs(entries - left - count) <= count / 100 + 1 else {
        throw .unavailable("\(entries - left) pictures were removed instead of \(count)")
      }
      return Cost(files: seconds, hits: hits)
    }
  }
}
