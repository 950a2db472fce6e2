import Glibc

/// The wait for hits by path while decoders work all the time, against hits alone.
enum HitsBesideDecoding {
  private static let hitsPerSecond = 2_000.0

  /// The clients whose waits count, how many decoders work beside them, and what starts the daemon.
  private struct Case {
    let shape: Shape
    var interval = 0.0
    let decoders: Int
    var scheduling: [String] = []
    /// The longest that one of a thousand hits may wait.
    var limit: Double?

    var name: String {
      "hits \(shape.name) beside \(decoders) decoders" + (scheduling.isEmpty ? "" : ", real-time loop")
    }
  }

  /// One that asks by the clock, of a daemon as anybody starts it and of one whose loop goes before others, and many that
  /// ask as fast as they can.
  private static let cases = [
    Case(shape: .alone, interval: 1 / hitsPerSecond, decoders: 2, limit: 0.003),
    Case(
      shape: .alone, interval: 1 / hitsPerSecond, decoders: 2,
      scheduling: ["chrt", "--reset-on-fork", "--rr", "1"], limit: 0.0015),
    Case(shape: Shape(connections: 16, depth: 1), decoders: 4),
  ]

  static func run(_ bench: Bench, _ origin: Nginx, _ set: PictureSet) throws(BenchFailure) {
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "hit.png")
    for one in cases { try measure(one, bench, origin, set) }
  }

  private static func measure(_ one: Case, _ bench: Bench, _ origin: Nginx, _ set: PictureSet) throws(BenchFailure) {
    let request = Imgd.fetch(origin.url("hit.png"), deliver: "path")
    let imgd = try Imgd(
      bench, place: .anywhere, settings: Imgd.roomy + ["Decode.Workers=\(one.decoders)"], scheduling: one.scheduling)
    try imgd.expect(request)
    try imgd.fetchAll(set.urls)
    try imgd.awaitStored(set.urls.count + 1)
    let hits = Hits(bench: bench, imgd: imgd, request: request, shape: one.shape, interval: one.interval)
    var (alone, beside): ([Waits], [Waits]) = ([], [])
    for _ in 0..<bench.options.rounds {
      alone.append(try hits.waits())
      beside.append(try self.beside(set, hits, one.decoders))
    }
    tell(bench, one, alone, beside)
    imgd.child.end()
  }

  /// The clients whose waits count.
  private struct Hits {
    let bench: Bench
    let imgd: Imgd
    let request: String
    let shape: Shape
    let interval: Double

    func waits() throws(BenchFailure) -> Waits {
      let watch = try Watch(
        bench, imgd.socket, request, every: interval, connections: shape.connections)
      sleep(UInt32(bench.scaled(4, quick: 1)))
      let waits = try watch.end()
      guard waits.failures == 0 else { throw .unavailable("\(waits.failures) hits were refused") }
      return waits
    }
  }

  /// The waits while as many clients as decoders ask for pixels without a pause.
  private static func beside(_ set: PictureSet, _ hits: Hits, _ decoders: Int) throws(BenchFailure) -> Waits {
    let (bench, imgd) = (hits.bench, hits.imgd)
    let list = bench.path("requests")
    let lines = set.urls.map {
      Imgd.fetch($0, deliver: "pixels", more: #","store":"none""#) + "\n"
    }
    try File.write(Array(lines.joined().utf8), to: list)
    let clients = try bench.serve(
      [
        Options.own, "repeat", imgd.socket, list, "\(lines.count)", "\(decoders)",
      ], "repeat", place: .anywhere)
    defer { clients.end() }
    for _ in 0..<1_000 where try imgd.stat("decode", "active") < decoders { usleep(10_000) }
    let result = try hits.waits()
    guard clients.isRunning, try imgd.stat("decode", "failed") == 0 else {
      throw .unavailable("pictures were not decoded: \(clients.lastWords)")
    }
    return result
  }

  /// `repeat SOCKET FILE LINES CONNECTIONS`: sends the lines of a file in turn until SIGTERM, and takes
  /// the descriptors that are sent back.
  static func repeatRequests(_ words: [String]) throws(BenchFailure) {
    guard let parts = Int(words[3]), let connections = Int(words[4]),
      let batch = File.read(words[2])
    else { throw .usage("repeat: bad number, or no file") }
    let load = Load(
      connections: connections, parts: parts, endsOnSignal: true, framing: .descriptors)
    let result = try load.run(on: words[1], batch: batch)
    guard result.failures == 0 else { throw .unavailable("\(result.failures) were refused") }
  }

  private static func tell(_ bench: Bench, _ one: Case, _ alone: [Waits], _ beside: [Waits]) {
    if let limit = one.limit {
      bench.report.add(
        Row(
          what: "\(one.name): p99.9", figure: Figure(median(beside.map(\.p999)), "s"), peer: Figure(limit, "s").text,
          ratios: Ratios(beside.map { $0.p999 / limit }), budget: .atMost(1)))
    }
    bench.report.add(
      Row(
        what: "\(one.name): p99",
        figure: Figure(median(beside.map(\.p99)), "s"), peer: "alone",
        ratios: Ratios(beside.map(\.p99), to: alone.map(\.p99)), budget: .atMost(1.5)))
    bench.report.add(
      Row(
        what: "\(one.name): p50",
        figure: Figure(median(beside.map(\.p50)), "s"), peer: "alone",
        ratios: Ratios(beside.map(\.p50), to: alone.map(\.p50))))
  }
}
