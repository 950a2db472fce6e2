/// Hit latency while 50 TLS connects a second run, against the same hits alone.
///
/// Hits are sent at a fixed rate that both processors can sustain: the figure shows whether a connect
/// delays a hit, not how an overloaded machine queues. Connects are reloads of one URL from an origin
/// that closes each connection.
enum Mixed {
  private static let connectsPerSecond = 50
  private static let hitsPerSecond = 2_000

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let imgd = try Imgd(
      bench, place: .anywhere,
      settings: ["Network.CAFile=\(origin.authority)", "Downloads.MaxActive=16"])
    try imgd.expect(Imgd.fetch(origin.secureURL("a.png"), deliver: "none"))
    try imgd.expect(Imgd.fetch(origin.url("a.png"), deliver: "path"))
    let seconds = bench.scaled(4, quick: 1)
    var alone: [LoadResult] = []
    var beside: [LoadResult] = []
    for _ in 0..<bench.options.rounds {
      alone.append(try hits(imgd, origin, seconds))
      beside.append(try besideConnects(bench, imgd, origin, seconds))
    }
    for (name, path, budget) in [
      ("p99", \LoadResult.p99, Budget.atMost(1.2)), ("p50", \LoadResult.p50, nil),
    ] {
      let ours = beside.map { $0[keyPath: path] }
      bench.report.add(
        Row(
          what: "hit \(name) beside connects", figure: Figure(median(ours), "s"), peer: "alone",
          ratios: Ratios(ours, to: alone.map { $0[keyPath: path] }), budget: budget))
    }
  }

  private static func hits(
    _ imgd: Imgd, _ origin: Nginx, _ seconds: Int
  ) throws(BenchFailure) -> LoadResult {
    let load = Load(
      connections: 50, duration: Double(seconds), interval: 1 / Double(hitsPerSecond))
    let result = try load.run(
      on: imgd.socket, batch: imgd.hit(origin.url("a.png"), deliver: "path").requests[0])
    guard result.failures == 0 else { throw .unavailable("\(result.failures) hits refused") }
    return result
  }

  /// The side load begins before the hits and ends after them; its connects are counted at the origin.
  private static func besideConnects(
    _ bench: Bench, _ imgd: Imgd, _ origin: Nginx, _ seconds: Int
  ) throws(BenchFailure) -> LoadResult {
    let before = origin.counted
    let request = Imgd.fetch(
      origin.secureURL("a.png"), deliver: "none", more: #","cache":"reload""#)
    let feed = try Child(
      [
        Options.own, "feed", imgd.socket, request, "\(connectsPerSecond)",
        "\(seconds + 1)",
      ], log: bench.path("feed.log"), place: .load)
    try feed.awaitReady("the side load") { origin.counted > before + 5 }
    let result = try hits(imgd, origin, seconds)
    guard feed.wait() == 0 else { throw .unavailable("the side load failed: \(feed.lastWords)") }
    let connects = origin.counted - before
    guard connects >= connectsPerSecond * seconds * 9 / 10 else {
      throw .unavailable("only \(connects) connects in \(seconds + 1) s; \(feed.lastWords)")
    }
    return result
  }
}
