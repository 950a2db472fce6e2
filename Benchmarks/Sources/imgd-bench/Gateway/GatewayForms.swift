/// Thumbnails that nobody has asked for before, against `vipsthumbnail` on the same files.
enum GatewayForms {
  static func run(_ bench: Bench) throws(BenchFailure) {
    guard Child.exists("vipsthumbnail") else {
      return bench.report.miss("thumbnails", "vipsthumbnail is missing")
    }
    let origin = try Nginx(bench, place: .anywhere)
    let photos = try PictureSet(
      bench, origin, "1200×800", .jpeg, count: bench.scaled(200, quick: 20), width: 1_200,
      height: 800)
    let imgd = try Imgd(bench, place: .anywhere, settings: Imgd.roomy)
    let gateway = try ImgdHTTP(bench, before: imgd, place: .anywhere)
    try imgd.fetchAll(photos.urls)
    // The decoders are there.
    _ = try gateway.hits([photos.urls[0]], form: "&width=50").ask(.alone, for: 0.05)
    var width = 300
    let rates = try bench.rounds([true, false]) { isOurs throws(BenchFailure) in
      guard isOurs else { return try theirs(bench, photos) }
      defer { width -= 1 }
      return try gateway.hits(photos.urls, form: "&width=\(width)&height=200&fit=cover")
        .askOnce(Shape(connections: 4, depth: 1)).perSecond
    }
    let busiest = Double(Place.processors)
    bench.report.add(
      Row(
        what: "made anew, 300×200", figure: Figure(median(rates[0]), "/s"),
        peer: "vipsthumbnail", ratios: Ratios(rates[0], to: rates[1]), budget: .atLeast(0.9)))
    bench.report.note("\(decimal(median(rates[0]) / busiest)) a second for each processor")
  }

  private static func theirs(_ bench: Bench, _ photos: PictureSet) throws(BenchFailure) -> Double {
    let output = try bench.directory("thumbnails") + "/%s.jpg[Q=80,optimize_coding,strip]"
    let start = now()
    try Child.finish(
      [
        "vipsthumbnail", "--size", "300x200", "--smartcrop", "centre", "--output", output,
      ] + photos.paths, log: bench.path("vipsthumbnail.log"))
    return Double(photos.paths.count) / (now() - start)
  }
}
