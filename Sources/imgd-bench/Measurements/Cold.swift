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
  }
}
