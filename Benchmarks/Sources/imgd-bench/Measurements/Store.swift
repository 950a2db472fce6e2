/// Wall time until pictures from one origin are stored in both tiers, and the disk tier's share of it.
enum Store {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .anywhere)
    let urls = try origin.addPictures(bench.scaled(2_000, quick: 200), bytes: 28_000)
    let stored = Way.imgd("stored", bench) { imgd throws(BenchFailure) in
      try imgd.fetchAll(urls)
      try imgd.awaitStored(urls.count)
    }
    let others = [
      Way.imgd("without disk", bench, settings: ["Disk.Enabled=no"]) {
        imgd throws(BenchFailure) in try imgd.fetchAll(urls)
      },
      Way.tool(.curl, bench, urls), Way.tool(.aria2c, bench, urls), Way.tool(.wget, bench, urls),
      Way.proxy(bench, origin, urls),
    ].compactMap { $0 }
    try Way.compare(bench, [stored] + others)
  }
}
