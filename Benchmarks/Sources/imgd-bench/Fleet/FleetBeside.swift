import Glibc

/// Hits in memory while other clients of the same daemon are given pictures of the fleet, against hits
/// alone.
enum FleetBeside {
  private static let hitsPerSecond = 2_000.0
  private static let fleetHitsPerSecond = 500

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(2, bytes: 28_000)
    let redis = try Fleet.server(bench)
    let imgd = try Fleet.host(bench, redis, place: .anywhere)
    let ready = Imgd.fetch(urls[0], deliver: "path")
    try imgd.expect(ready)
    let shared = Imgd.fetch(urls[1], deliver: "none", more: Fleet.only)
    try imgd.expect(shared)
    try imgd.awaitFleetStores(2)
    var waits = (alone: [Waits](), beside: [Waits]())
    for _ in 0..<bench.options.rounds {
      waits.alone.append(try hits(bench, imgd, ready, beside: nil))
      waits.beside.append(try hits(bench, imgd, ready, beside: shared))
    }
    for (name, path, budget) in [
      ("p50", \Waits.p50, Budget.atMost(1.5)), ("p99", \Waits.p99, nil),
    ] {
      let ours = waits.beside.map { $0[keyPath: path] }
      bench.report.add(
        Row(
          what: "memory hit \(name) beside the fleet", figure: Figure(median(ours), "s"),
          peer: "alone", ratios: Ratios(ours, to: waits.alone.map { $0[keyPath: path] }),
          budget: budget))
    }
    bench.endServers()
  }

  private static func hits(
    _ bench: Bench, _ imgd: Imgd, _ request: String, beside other: String?
  ) throws(BenchFailure) -> Waits {
    let seconds = bench.scaled(3, quick: 1)
    var feed: Child?
    if let other {
      feed = try Child(
        [
          Options.own, "feed", imgd.socket, other, "\(fleetHitsPerSecond)",
          "\(seconds + 1)",
        ], log: bench.path("feed.log"))
      let before = try imgd.stat("fleet", "hits")
      while try imgd.stat("fleet", "hits") < before + 20 { usleep(500) }
    }
    let watch = try Watch(bench, imgd.socket, request, every: 1 / hitsPerSecond)
    sleep(UInt32(seconds))
    let waits = try watch.end()
    guard waits.failures == 0, feed?.wait() ?? 0 == 0 else {
      throw .unavailable("a load failed: \(feed?.lastWords ?? "")")
    }
    return waits
  }
}
