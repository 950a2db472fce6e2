/// Wall time for pictures that are not cached, from one origin, 16 at a time.
///
/// The daemon answers when a picture can be used, and stores it in both tiers; the others write files
/// into an empty directory, or into a cache. `nginx cache` also sends the bytes.
enum Cold {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .anywhere)
    let urls = try origin.addPictures(bench.scaled(2_000, quick: 200), bytes: 28_000)
    let peers = [
      Way.tool(.curl, bench, urls, .atLeast(0.95)),
      Way.tool(.aria2c, bench, urls, .atLeast(5)),
      Way.tool(.wget, bench, urls),
      Way.proxy(bench, origin, urls),
    ].compactMap { $0 }
    guard bench.hasImgd else {
      bench.report.miss("imgd", "missing at \(bench.options.imgd)")
      return try Way.compare(bench, peers)
    }
    let ways = ["none", "path"].map { deliver in
      Way.imgd("imgd \(deliver)", bench) { imgd throws(BenchFailure) in
        try imgd.fetchAll(urls, deliver: deliver)
      }
    }
    for way in ways { try Way.compare(bench, [way] + peers) }
    try compareProcessorTime(bench, urls, on: .tmpfs)
    try compareProcessorTime(bench, urls, on: .ext4)
  }

  // MARK: Processor time

  /// Compares processor time, user and system, for the same files in an empty directory.
  private static func compareProcessorTime(
    _ bench: Bench, _ urls: [String], on kind: MemoryDisk.Kind
  ) throws(BenchFailure) {
    let disk = bench.start("cold on \(kind.rawValue)") { () throws(BenchFailure) in
      try MemoryDisk(bench, kind)
    }
    guard let disk else { return }
    bench.ground = disk.path
    defer { bench.ground = nil }
    let times = try bench.rounds([true, false]) { isOurs throws(BenchFailure) in
      isOurs ? try imgdTime(bench, urls) : try curlTime(bench, urls)
    }
    bench.report.add(
      Row(
        what: "imgd path, CPU on \(kind.rawValue)", figure: Figure(median(times[0]), "s"),
        peer: "curl", ratios: Ratios(times[0], to: times[1]), budget: .atMost(1.5)))
  }

  private static func imgdTime(_ bench: Bench, _ urls: [String]) throws(BenchFailure) -> Double {
    let imgd = try Imgd(bench, place: .anywhere, settings: Imgd.roomy)
    defer { imgd.child.end() }
    let meter = ProcessMeter(imgd.child)
    let before = try meter.processorTime
    try imgd.fetchAll(urls, deliver: "path")
    return try meter.processorTime - before
  }

  private static func curlTime(_ bench: Bench, _ urls: [String]) throws(BenchFailure) -> Double {
    let before = EndedChildren.processorTime
    _ = try DownloadTool.curl.run(bench, urls)
    return EndedChildren.processorTime - before
  }
}
