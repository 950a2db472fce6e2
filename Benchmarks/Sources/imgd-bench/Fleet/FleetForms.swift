/// A form of about 28 kB that another host has made, against making it here. The host has the pictures
/// themselves, and keeps no form.
enum FleetForms {
  private static let form = #","format":"jpeg","resize":{"width":420}"#
  private static let limit = 0.003

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let photos = try PictureSet(
      bench, origin, "1200×800", .jpeg, count: bench.scaled(64, quick: 16), width: 1_200, height: 800)
    let redis = try Fleet.server(bench)
    let maker = try Fleet.host(bench, redis)
    try maker.fetchAll(photos.urls)
    let pictures = photos.urls.count
    try maker.awaitFleetStores(pictures)
    let stored = try maker.stat("fleet", "bytes_stored")
    try maker.fetchAll(photos.urls, more: form + Fleet.only)
    try maker.awaitFleetStores(2 * pictures)
    let bytes = (try maker.stat("fleet", "bytes_stored") - stored) / pictures
    maker.child.end()
    let alone = try Imgd(bench, settings: Imgd.roomy)
    try alone.fetchAll(photos.urls)
    let host = try Fleet.host(bench, redis)
    try host.fetchAll(photos.urls)
    let results = try Contender.compare(
      [
        host.hits(photos.urls, deliver: "fd", more: form + Fleet.only, framing: .descriptors),
        alone.hits(photos.urls, deliver: "fd", more: form + #","store":"none""#, framing: .descriptors),
      ], .alone, rounds: bench.options.rounds, seconds: bench.scaled(1.5, quick: 0.3))
    guard try host.stat("decode", "completed") == 0 else { throw .unavailable("a shared form was made anew") }
    bench.endServers()
    for (name, path, budget) in [("p50", \LoadResult.p50, limit), ("p99", \LoadResult.p99, nil)] {
      let ours = results[0].map { $0[keyPath: path] }
      bench.report.add(
        Row(
          what: "shared form, \(bytes / 1_000) kB, \(name)", figure: Figure(median(ours), "s"), peer: "made here",
          ratios: Ratios(ours, to: results[1].map { $0[keyPath: path] })))
      guard let budget else { continue }
      bench.report.add(
        Row(
          what: "shared form \(name)", figure: Figure(median(ours), "s"), peer: Figure(budget, "s").text,
          ratios: Ratios([median(ours) / budget]), budget: .atMost(1)))
    }
  }
}
