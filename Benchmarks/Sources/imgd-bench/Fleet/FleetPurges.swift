import Glibc

/// How long a purge takes until the last of ten hosts has applied it, against how long its own host takes to
/// answer. Each host has the picture in memory, and tells its subscriber when it goes.
enum FleetPurges {
  private static let hosts = 10
  private static let limit = 0.100

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let count = bench.scaled(300, quick: 30)
    let urls = try origin.addPictures(count, bytes: 1_000)
    let redis = try Fleet.server(bench)
    var imgds: [Imgd] = []
    for _ in 0..<hosts { imgds.append(try Fleet.host(bench, redis, place: .anywhere)) }
    for imgd in imgds { try imgd.fetchAll(urls) }
    var others: [Subscriber] = []
    for imgd in imgds.dropFirst() { others.append(try Subscriber(imgd.socket)) }
    var times = (answered: [Double](), last: [Double]())
    for url in urls {
      let start = now()
      let answer = try imgds[0].expect(#"{"cmd":"purge","url":"\#(url)"}"#)
      guard answer.contains(#""fleet":"sent""#) else { throw .unavailable("imgd said \(answer)") }
      times.answered.append(now() - start)
      for other in others { try other.awaitPurge() }
      times.last.append(now() - start)
    }
    tell(bench, times.last.sorted(), times.answered.sorted())
    bench.endServers()
  }

  private static func tell(_ bench: Bench, _ last: [Double], _ answered: [Double]) {
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
      let index = Int(Double(last.count - 1) * share)
      bench.report.add(
        Row(
          what: "purge to the last host \(name)", figure: Figure(last[index], "s"),
          peer: "answer \(name)", ratios: Ratios([last[index] / answered[index]])))
    }
    let p99 = last[Int(Double(last.count - 1) * 0.99)]
    bench.report.add(
      Row(
        what: "purge to the last host p99", figure: Figure(p99, "s"),
        peer: Figure(limit, "s").text, ratios: Ratios([p99 / limit]), budget: .atMost(1)))
  }
}
