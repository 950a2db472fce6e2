/// Rate and latency of hits, against a redis GET of 300 bytes and the floor with requests and replies
/// of the same length: of one picture, and of many at random with another id in each request.
enum Hits {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let field = try Field(bench)
    for shape in Shape.all {
      let results = try Contender.compare(
        field.contenders, shape, rounds: bench.options.rounds,
        seconds: bench.scaled(0.8, quick: 0.1))
      Comparison(shape: shape, names: field.contenders.map(\.name), results: results)
        .tell(bench.report)
    }
  }

  /// The available contenders, the daemon first and the floor last.
  private struct Field {
    private static let pictures = 10_000

    let contenders: [Contender]

    init(_ bench: Bench) throws(BenchFailure) {
      let origin = bench.start("nginx") { () throws(BenchFailure) in try Nginx(bench) }
      let url = origin?.url("a.png") ?? "http://127.0.0.1:12345/a.png"
      try origin?.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
      let imgd = bench.start("imgd") { () throws(BenchFailure) in try Imgd(bench) }
      let line = Imgd.fetch(url, deliver: "path")
      try imgd?.expect(line)
      let replyBytes = try imgd?.expect(line).utf8.count ?? 329
      let floor = try Floor(bench, replyBytes: replyBytes + 1)
      let redis = bench.start("redis") { () throws(BenchFailure) in try Redis(bench) }
      try redis?.set("picture", [UInt8](repeating: 0x78, count: 300))
      contenders =
        [
          imgd?.hit(url, deliver: "path"), imgd?.hit(url, deliver: "none"),
          try Self.many(bench, imgd, origin), redis?.get("picture"), try Self.many(bench, redis),
          floor.contender(request: Array((line + "\n").utf8)),
        ].compactMap { $0 }
    }

    /// As many values, each asked for in turn.
    private static func many(_ bench: Bench, _ redis: Redis?) throws(BenchFailure) -> Contender? {
      guard let redis else { return nil }
      let keys = (0..<bench.scaled(pictures, quick: 1_000)).map { "picture:\(100_000 + $0)" }
      for key in keys { try redis.set(key, [UInt8](repeating: 0x78, count: 300)) }
      return redis.getMany(keys.shuffled())
    }

    /// Pictures of which each is asked for once, in no order.
    private static func many(
      _ bench: Bench, _ imgd: Imgd?, _ origin: Nginx?
    ) throws(BenchFailure) -> Contender? {
      guard let imgd, let origin else { return nil }
      let urls = try origin.addPictures(bench.scaled(pictures, quick: 1_000), bytes: 1_000)
      try imgd.fetchAll(urls, deliver: "path")
      try imgd.fetchAll(urls, deliver: "path")
      let requests = urls.shuffled().enumerated().map { number, url in
        Array(#"{"id":\#(100_000 + number),"cmd":"fetch","url":"\#(url)"}"#.utf8) + [0x0A]
      }
      return Contender(
        name: "imgd many", socket: imgd.socket, requests: requests, framing: .lines)
    }
  }

  /// The results of one shape.
  private struct Comparison {
    let shape: Shape
    let names: [String]
    let results: [[LoadResult]]

    func tell(_ report: BenchReport) {
      rate(report, "imgd path", "redis GET", .atLeast(1.2))
      rate(report, "imgd path", "floor", .atLeast(0.7))
      rate(report, "imgd many", "redis many", .atLeast(1.2))
      rate(report, "imgd many", "floor", .atLeast(0.7))
      rate(report, "imgd none", "redis GET", .atLeast(1.2))
      rate(report, "imgd none", "floor", .atLeast(0.7))
      rate(report, "redis GET", "floor", nil)
      latency(report, "p50", "imgd path", "redis GET", \.p50)
      latency(report, "p99", "imgd path", "redis GET", \.p99)
      latency(report, "p50", "redis GET", "floor", \.p50)
      latency(report, "p99", "redis GET", "floor", \.p99)
      let shares = zip(names, results).map { name, rounds in
        "\(name) \(Int(median(rounds.map(\.loadShare)) * 100)) %"
      }
      report.note("load busy: " + shares.joined(separator: ", "))
    }

    private func figures(_ name: String, _ path: KeyPath<LoadResult, Double>) -> [Double]? {
      names.firstIndex(of: name).map { results[$0].map { $0[keyPath: path] } }
    }

    private func rate(_ report: BenchReport, _ own: String, _ peer: String, _ budget: Budget?) {
      guard let ours = figures(own, \.perSecond), let theirs = figures(peer, \.perSecond) else {
        return
      }
      report.add(
        Row(
          what: "\(own) \(shape.name)", figure: Figure(median(ours), "/s"), peer: peer,
          ratios: Ratios(ours, to: theirs), budget: budget))
    }

    private func latency(
      _ report: BenchReport, _ percentile: String, _ own: String, _ peer: String,
      _ path: KeyPath<LoadResult, Double>
    ) {
      guard let ours = figures(own, path), let theirs = figures(peer, path) else { return }
      report.add(
        Row(
          what: "\(own) \(shape.name) \(percentile)", figure: Figure(median(ours), "s"),
          peer: "\(peer) \(percentile)", ratios: Ratios(ours, to: theirs)))
    }
  }
}
