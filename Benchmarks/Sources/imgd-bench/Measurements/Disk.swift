/// A hit of the disk tier against a hit of the memory tier, by the same request.
///
/// Many pictures in turn, so that no two clients share a read. They were written shortly before: the
/// kernel has them in its cache, and the figures are the daemon's, not the disk's.
enum Disk {
  private static let shapes = [
    Shape.alone, Shape(connections: 16, depth: 1), Shape(connections: 1, depth: 16),
  ]

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(bench.scaled(4_000, quick: 400), bytes: 28_000)
    let proxy = bench.start("nginx cache") { () throws(BenchFailure) in
      try CachingNginx(bench, origin: origin)
    }
    _ = try proxy?.hits(urls).askOnce(shapes[1])
    try stay(bench, urls, proxy)
    try rise(bench, urls, proxy)
  }

  // MARK: Pictures that stay on disk

  private struct Manner {
    let deliver: String
    let framing: Framing
    /// Whether the client has the bytes afterwards, as with a peer.
    let bringsBytes: Bool
  }

  private static let manners = [
    Manner(deliver: "path", framing: .lines, bringsBytes: false),
    Manner(deliver: "fd", framing: .descriptors, bringsBytes: true),
    Manner(deliver: "inline", framing: .lines, bringsBytes: true),
  ]

  /// `store:"disk"` keeps a picture out of memory, so that each hit is a disk hit.
  private static let onDisk = #","store":"disk""#

  private static func stay(
    _ bench: Bench, _ urls: [String], _ proxy: CachingNginx?
  ) throws(BenchFailure) {
    let imgd = try Imgd(bench, settings: Imgd.roomy)
    let half = urls.count / 2
    let (below, above) = (Array(urls[..<half]), Array(urls[half...]))
    try imgd.fetchAll(below, more: onDisk)
    try imgd.fetchAll(above)
    try imgd.awaitStored(urls.count)
    for manner in manners {
      let ours = imgd.hits(below, deliver: manner.deliver, more: onDisk, framing: manner.framing)
      let memory = imgd.hits(above, deliver: manner.deliver, more: onDisk, framing: manner.framing)
      for shape in shapes {
        let peers = [manner.bringsBytes ? proxy?.hits(below) : nil].compactMap { $0 }
        let results = try Contender.compare(
          [ours, memory] + peers, shape, rounds: bench.options.rounds,
          seconds: bench.scaled(0.5, quick: 0.1))
        tell(bench, "\(manner.deliver) \(shape.name)", results)
      }
    }
    let kept = try imgd.stat("memory", "entries")
    guard kept == half else { throw .unavailable("the memory tier has \(kept) pictures") }
    imgd.child.end()
  }

  /// A disk hit, a memory hit, and perhaps a peer's.
  private static func tell(_ bench: Bench, _ what: String, _ results: [[LoadResult]]) {
    let rates = results.map { $0.map(\.perSecond) }
    let figure = Figure(median(rates[0]), "/s")
    bench.report.add(
      Row(
        what: what, figure: figure, peer: "memory hit: time",
        ratios: Ratios(rates[1], to: rates[0]), budget: .atMost(2)))
    guard rates.count > 2 else { return }
    bench.report.add(
      Row(
        what: what, figure: figure, peer: "nginx cache: speed",
        ratios: Ratios(rates[0], to: rates[2])))
  }

  // MARK: Pictures that are loaded into memory

  /// How the previous instance ended.
  private enum Ending: String, CaseIterable {
    case stop, crash
  }

  private static func rise(
    _ bench: Bench, _ urls: [String], _ proxy: CachingNginx?
  ) throws(BenchFailure) {
    var imgd = try Imgd(bench, settings: Imgd.roomy)
    try imgd.fetchAll(urls)
    try imgd.awaitStored(urls.count)
    for ending in Ending.allCases {
      for shape in shapes {
        var results: [[LoadResult]] = [[], []]
        for _ in 0..<bench.options.rounds {
          if ending == .stop { imgd.child.end() } else { imgd.child.kill() }
          imgd = try Imgd(bench, settings: Imgd.roomy, cache: imgd.cache)
          try imgd.awaitLoaded()
          let once = imgd.hits(urls, deliver: "path")
          pinLoad(true)
          for index in 0..<2 { results[index].append(try once.askOnce(shape)) }
          pinLoad(false)
        }
        guard try imgd.stat("downloads", "started") == 0 else {
          throw .unavailable("a picture was fetched anew after a \(ending.rawValue)")
        }
        tell(bench, "first after \(ending.rawValue) \(shape.name)", results)
      }
    }
  }
}
