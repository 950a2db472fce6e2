/// Answers that are no pictures: the memory of many, and hits on a chain of redirects.
///
/// The chain has three redirects before a picture, all of them remembered; one hit is the same picture under
/// its own URL.
enum Answers {
  private static let hops = ["hop1", "hop2", "hop3"]

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    guard bench.hasImgd else {
      return bench.report.miss("imgd", "missing at \(bench.options.imgd)")
    }
    try memory(bench, origin)
    try chain(bench, origin)
  }

  // MARK: Memory

  private static func memory(_ bench: Bench, _ origin: Nginx) throws(BenchFailure) {
    let count = bench.scaled(100_000, quick: 5_000)
    let imgd = try Imgd(
      bench,
      settings: ["Disk.Enabled=no", "Downloads.MaxActive=16", "Downloads.MaxPerHost=16"])
    defer { imgd.child.end() }
    let facts = ProcessMeter(imgd.child)
    _ = try Load(replies: 1, batches: 1).run(
      on: imgd.socket,
      batch: Array((Imgd.fetch(origin.url("missing/warm"), deliver: "none") + "\n").utf8))
    let before = try facts.anonymousBytes
    for start in stride(from: 0, to: count, by: 5_000) {
      let urls = (start..<min(start + 5_000, count)).map { origin.url("missing/\(100_000 + $0)") }
      let lines = urls.map { Imgd.fetch($0, deliver: "none") + "\n" }.joined()
      _ = try Load(replies: urls.count, batches: 1).run(on: imgd.socket, batch: Array(lines.utf8))
    }
    let entries = try imgd.stat("failures", "entries")
    guard entries > count else {
      throw .unavailable("\(entries) answers are held after \(count) fetches")
    }
    let held = Double(try facts.anonymousBytes - before)
    let charged = Double(try imgd.stat("failures", "bytes"))
    bench.report.add(
      Row(
        what: "\(count) remembered 404s, each", figure: Figure(held / Double(count), "B"),
        peer: "as charged", ratios: Ratios([held / charged])))
  }

  // MARK: Hits

  private static func chain(_ bench: Bench, _ origin: Nginx) throws(BenchFailure) {
    let imgd = try Imgd(bench)
    defer { imgd.child.end() }
    for url in [origin.url("hop1"), origin.url("a.png")] {
      try imgd.expect(Imgd.fetch(url, deliver: "path"))
    }
    let contenders = [
      imgd.hit(origin.url("hop1"), deliver: "path"),
      imgd.hit(origin.url("a.png"), deliver: "path"),
    ]
    for shape in Shape.all {
      let results = try Contender.compare(
        contenders, shape, rounds: bench.options.rounds, seconds: bench.scaled(0.8, quick: 0.1))
      let rates = results.map { $0.map { $0.perSecond } }
      bench.report.add(
        Row(
          what: "chain of \(hops.count) \(shape.name)", figure: Figure(median(rates[0]), "/s"),
          peer: "one hit", ratios: Ratios(rates[0], to: rates[1])))
    }
  }
}
