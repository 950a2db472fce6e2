/// A hit in the fleet's server, against one on disk, a fetch from an origin on the same machine, and a GET
/// of as many bytes. All clients get a descriptor with the bytes.
enum FleetHits {
  private static let shapes = [Shape.alone, Shape(connections: 16, depth: 1)]

  private static let sizes = [("28 kB", 28_000, 640), ("1 MB", 1_000_000, 64)]

  static func run(_ bench: Bench) throws(BenchFailure) {
    for (name, bytes, count) in sizes {
      let field = try Field(bench, pictures: bench.scaled(count, quick: count / 4), bytes: bytes)
      for shape in shapes {
        let results = try Contender.compare(
          field.contenders, shape, rounds: bench.options.rounds,
          seconds: bench.scaled(0.8, quick: 0.1))
        tell(bench, "\(name) \(shape.name)", results)
      }
      try field.checkThatHitsWereTheServers()
      bench.endServers()
    }
  }

  /// The contenders: the fleet, the disk, the origin, redis.
  private struct Field {
    let contenders: [Contender]
    private let host: Imgd
    private let pictures: Int

    init(_ bench: Bench, pictures: Int, bytes: Int) throws(BenchFailure) {
      let origin = try Nginx(bench, place: .load)
      let urls = try origin.addPictures(pictures, bytes: bytes)
      let redis = try Fleet.server(bench, place: .load)
      try Fleet.fill(try Fleet.host(bench, redis), urls)
      host = try Fleet.host(bench, redis)
      let alone = try Imgd(bench, settings: Imgd.roomy)
      try alone.fetchAll(urls, more: #","store":"disk""#)
      try alone.awaitStored(pictures)
      let stranger = try Imgd(bench, settings: Imgd.roomy)
      let floor = try Redis(bench)
      try floor.set("picture", [UInt8](repeating: 0x78, count: bytes))
      self.pictures = pictures
      contenders = [
        Self.fetches(host, urls, Fleet.only), Self.fetches(alone, urls, #","store":"disk""#),
        Self.fetches(stranger, urls, #","store":"none""#), floor.get("picture"),
      ]
    }

    private static func fetches(_ imgd: Imgd, _ urls: [String], _ more: String) -> Contender {
      imgd.hits(urls.shuffled(), deliver: "fd", more: more, framing: .descriptors)
    }

    func checkThatHitsWereTheServers() throws(BenchFailure) {
      let (started, hits) = (try host.stat("downloads", "started"), try host.stat("fleet", "hits"))
      guard started == 0, hits > pictures else {
        throw .unavailable("\(started) hits of the fleet were downloads, \(hits) were hits")
      }
    }
  }

  private static func tell(_ bench: Bench, _ what: String, _ results: [[LoadResult]]) {
    let rates = results.map { $0.map(\.perSecond) }
    let figure = Figure(median(rates[0]), "/s")
    bench.report.add(
      Row(
        what: "hit \(what)", figure: figure, peer: "disk hit: time",
        ratios: Ratios(rates[1], to: rates[0])))
    bench.report.add(
      Row(
        what: "hit \(what)", figure: figure, peer: "origin: speed",
        ratios: Ratios(rates[0], to: rates[2])))
    bench.report.add(
      Row(
        what: "hit \(what)", figure: figure, peer: "redis GET: speed",
        ratios: Ratios(rates[0], to: rates[3])))
    let waits = results.map { $0.map(\.p99) }
    bench.report.add(
      Row(
        what: "hit \(what) p99", figure: Figure(median(waits[0]), "s"), peer: "disk hit p99",
        ratios: Ratios(waits[0], to: waits[1])))
  }
}
