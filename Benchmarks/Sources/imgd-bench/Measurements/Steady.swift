import Glibc

/// A hit's wait beside the heaviest work that a daemon has, against its wait alone.
///
/// Another process asks for one picture in memory twice a millisecond; a wait counts from when the request
/// was due, so that a stall shows in every hit that it delays.
enum Steady {
  private static let hitsPerSecond = 2_000.0
  private static let connectsPerSecond = 50
  private static let worstLimit = 0.010

  static func run(_ bench: Bench) throws(BenchFailure) {
    try besideLoad(bench, entries: bench.scaled(1_000_000, quick: 20_000))
    try besidePurge(bench, entries: bench.scaled(100_000, quick: 10_000))
    try besideDownloads(bench)
  }

  private static func besideLoad(_ bench: Bench, entries: Int) throws(BenchFailure) {
    let (imgd, url) = try daemon(bench, entries: entries)
    let hits = Hits(bench: bench, imgd: imgd, request: Imgd.fetch(url, deliver: "path"))
    try hits.watch("the load of \(entries)") { () throws(BenchFailure) in try imgd.awaitLoaded() }
    imgd.child.end()
  }

  private static func besidePurge(_ bench: Bench, entries: Int) throws(BenchFailure) {
    let (imgd, url) = try daemon(bench, entries: entries)
    try imgd.awaitLoaded()
    let hits = Hits(bench: bench, imgd: imgd, request: Imgd.fetch(url, deliver: "path"))
    let alone = try hits.waits { sleep(UInt32(bench.scaled(4, quick: 1))) }
    try hits.watch("a purge of \(entries)", alone) { () throws(BenchFailure) in
      let purge = Array((#"{"cmd":"purge","host":"127.0.0.1"}"# + "\n").utf8)
      let result = try Load(batches: 1, patience: 120).run(on: imgd.socket, batch: purge)
      guard result.failures == 0 else { throw .unavailable("the purge was refused") }
    }
    imgd.child.end()
  }

  /// The same server under a name that no purge is about.
  private static func local(_ url: String) -> String {
    url.after("127.0.0.1").map { "http://localhost\($0)" } ?? url
  }

  /// A daemon that begins with so many entries on disk, and the URL of one that no purge is about.
  private static func daemon(
    _ bench: Bench, entries: Int
  ) throws(BenchFailure) -> (imgd: Imgd, url: String) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(1, bytes: 1_000)
    let first = try Imgd(bench, settings: Imgd.roomy)
    try first.fetchAll([urls[0], local(urls[0])])
    try first.awaitStored(2)
    first.child.end()
    try Imgd.multiply(first.cache, to: entries, bench)
    let imgd = try Imgd(bench, place: .anywhere, settings: Imgd.roomy, cache: first.cache)
    return (imgd, local(urls[0]))
  }

  /// 50 TLS connects a second and 2,000 cold pictures.
  private static func besideDownloads(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let urls = try origin.addPictures(bench.scaled(2_000, quick: 200), bytes: 28_000)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let imgd = try Imgd(
      bench, place: .anywhere,
      settings: Imgd.roomy + ["Network.CAFile=\(origin.authority)"])
    try imgd.expect(Imgd.fetch(origin.secureURL("a.png"), deliver: "none"))
    let hits = Hits(
      bench: bench, imgd: imgd, request: Imgd.fetch(origin.url("a.png"), deliver: "path"))
    let alone = try hits.waits { sleep(UInt32(bench.scaled(4, quick: 1))) }
    try hits.watch("connects and cold pictures", alone) { () throws(BenchFailure) in
      let feed = try connects(bench, imgd, origin, seconds: bench.scaled(4, quick: 1))
      try imgd.fetchAll(urls, deliver: "path")
      guard feed.wait() == 0 else {
        throw .unavailable("the side load failed: \(feed.lastWords)")
      }
    }
  }

  /// Reloads of one URL from an origin that closes each connection.
  private static func connects(
    _ bench: Bench, _ imgd: Imgd, _ origin: Nginx, seconds: Int
  ) throws(BenchFailure) -> Child {
    let reload = Imgd.fetch(
      origin.secureURL("a.png"), deliver: "none", more: #","cache":"reload""#)
    return try Child(
      [
        Options.own, "feed", imgd.socket, reload, "\(connectsPerSecond)",
        "\(seconds)",
      ], log: bench.path("feed.log"), place: .load)
  }

  /// The client whose waits count.
  private struct Hits {
    let bench: Bench
    let imgd: Imgd
    let request: String

    func waits(beside work: () throws(BenchFailure) -> Void) throws(BenchFailure) -> Waits {
      try imgd.expect(request)
      let watch = try Watch(bench, imgd.socket, request, every: 1 / hitsPerSecond)
      try work()
      let waits = try watch.end()
      guard waits.failures == 0 else { throw .unavailable("\(waits.failures) hits were refused") }
      return waits
    }

    func watch(
      _ what: String, _ alone: Waits? = nil, _ work: () throws(BenchFailure) -> Void
    ) throws(BenchFailure) {
      let meter = ProcessMeter(imgd.child)
      let delay = try meter.delay
      let waits = try waits(beside: work)
      if let alone {
        bench.report.add(
          Row(
            what: "\(what): p99", figure: Figure(waits.p99, "s"), peer: "alone",
            ratios: Ratios([waits.p99 / alone.p99]), budget: .atMost(2)))
      }
      bench.report.add(
        Row(
          what: "\(what): worst", figure: Figure(waits.worst, "s"),
          peer: Figure(worstLimit, "s").text, ratios: Ratios([waits.worst / worstLimit]),
          budget: .atMost(1)))
      bench.report.note(
        "p50 \(Figure(waits.p50, "s").text) of \(waits.replies); the loop waited "
          + "\(Figure(try meter.delay - delay, "s").text) for a processor")
    }
  }
}
