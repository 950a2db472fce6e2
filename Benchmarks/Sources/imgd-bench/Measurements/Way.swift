/// One of several ways to get the same pictures, with its wall time.
struct Way {
  let name: String
  /// The required ratio of the first way's speed to this one's.
  let budget: Budget?
  let run: () throws(BenchFailure) -> Double

  init(
    _ name: String, _ budget: Budget? = nil, _ run: @escaping () throws(BenchFailure) -> Double
  ) {
    self.name = name
    self.budget = budget
    self.run = run
  }

  /// Runs all ways in turn, and reports how much longer each of the others takes than the first.
  static func compare(_ bench: Bench, _ ways: [Way]) throws(BenchFailure) {
    let times = try bench.rounds(ways) { way throws(BenchFailure) in try way.run() }
    guard let first = ways.first, let ours = times.first else { return }
    for (way, theirs) in zip(ways, times).dropFirst() {
      bench.report.add(
        Row(
          what: "\(first.name), times as fast as", figure: Figure(median(ours), "s"),
          peer: way.name, ratios: Ratios(theirs, to: ours), budget: way.budget))
    }
  }
}

extension Way {
  /// The daemon with an empty cache; its start is not counted.
  static func imgd(
    _ name: String, _ bench: Bench, settings: [String] = [],
    _ body: @escaping (Imgd) throws(BenchFailure) -> Void
  ) -> Way {
    Way(name) { () throws(BenchFailure) in
      let imgd = try Imgd(bench, place: .anywhere, settings: Imgd.roomy + settings)
      defer { imgd.child.end() }
      let start = now()
      try body(imgd)
      return now() - start
    }
  }

  /// One-shot programs, whose start is counted.
  static func tool(
    _ tool: DownloadTool, _ bench: Bench, _ urls: [String], _ budget: Budget? = nil
  ) -> Way? {
    guard Child.exists(tool.name) else {
      bench.report.miss(tool.name, "missing")
      return nil
    }
    return Way(tool.name, budget) { () throws(BenchFailure) in try tool.run(bench, urls) }
  }

  /// A caching proxy, asked by the same load over 16 connections.
  static func proxy(_ bench: Bench, _ origin: Nginx, _ urls: [String]) -> Way {
    Way("nginx cache") { () throws(BenchFailure) in
      let proxy = try CachingNginx(bench, origin: origin, place: .anywhere)
      defer { proxy.child.end() }
      return try proxy.hits(urls).askOnce(Shape(connections: 16, depth: 1)).seconds
    }
  }
}
