/// Thumbnails made in a second: by the daemon, and by `vipsthumbnail`, with the same settings of the encoder.
enum ThumbnailRates {
  private static let form = #","resize":{"width":256,"height":256},"format":"jpeg""#

  static func run(_ bench: Bench, _ small: PictureSet, _ large: PictureSet) throws(BenchFailure) {
    guard Child.exists("vipsthumbnail") else {
      return bench.report.miss("thumbnails", "vipsthumbnail is missing")
    }
    try measure(bench, large, [large.paths], peer: "vipsthumbnail", least: 0.9)
    let some = small.paths.prefix(bench.scaled(100, quick: 20))
    try measure(bench, small, some.map { [$0] }, peer: "one process each", least: 5)
  }

  private static func measure(
    _ bench: Bench, _ set: PictureSet, _ lists: [[String]], peer: String, least: Double
  ) throws(BenchFailure) {
    let daemon = try DecodingDaemon(bench, set, deliver: "fd", form: form)
    let rates = try bench.rounds([true, false]) { isOurs throws(BenchFailure) in
      isOurs ? try daemon.rate() : try rate(bench, lists)
    }
    bench.report.add(
      Row(
        what: "\(set.name) to 256×256", figure: Figure(median(rates[0]), "/s"), peer: peer,
        ratios: Ratios(rates[0], to: rates[1]), budget: .atLeast(least)))
    daemon.end()
  }

  /// Pictures a second, where each list of files is given to a process of its own, one after the other.
  private static func rate(_ bench: Bench, _ lists: [[String]]) throws(BenchFailure) -> Double {
    let output = try bench.directory("thumbnails") + "/%s.jpg[Q=80,optimize_coding,strip]"
    let log = bench.path("vipsthumbnail.log")
    let start = now()
    for list in lists {
      try Child.finish(["vipsthumbnail", "--size", "256", "--output", output] + list, log: log)
    }
    return Double(lists.joined().count) / (now() - start)
  }
}
