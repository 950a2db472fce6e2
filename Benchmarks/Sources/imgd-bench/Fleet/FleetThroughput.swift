import Glibc

/// What ten hosts get from one server at once, against one host; and which part of a processor the server
/// needs for that, which tells how many hits it could serve.
enum FleetThroughput {
  private static let hosts = 10

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    let url = try origin.addPictures(1, bytes: 28_000)[0]
    let redis = try Fleet.server(bench)
    var imgds: [Imgd] = []
    for _ in 0..<hosts { imgds.append(try Fleet.host(bench, redis, place: .anywhere)) }
    try imgds[0].fetchAll([url], more: Fleet.only)
    try imgds[0].awaitFleetStores(1)
    let request = Imgd.fetch(url, deliver: "none", more: Fleet.only)
    let meter = ProcessMeter(redis.child)
    var rates = (one: [Double](), ten: [Double]())
    var perHit: [Double] = []
    for _ in 0..<bench.options.rounds {
      rates.one.append(try rate(bench, [imgds[0]], request))
      let before = try meter.processorTime
      let ten = try rate(bench, imgds, request)
      rates.ten.append(ten)
      perHit.append((try meter.processorTime - before) / (ten * seconds(bench)))
    }
    bench.report.add(
      Row(
        what: "hits 28 kB of ten hosts", figure: Figure(median(rates.ten), "/s"), peer: "one host",
        ratios: Ratios(rates.ten, to: rates.one)))
    bench.report.note(
      "the server's processor time for a hit: \(Figure(median(perHit), "s").text), so it could "
        + "serve \(Figure(1 / median(perHit), "/s").text)")
    bench.endServers()
  }

  private static func seconds(_ bench: Bench) -> Double { bench.scaled(2, quick: 0.5) }

  /// One request at a time on each host: two for one picture would share a look-up.
  private static func rate(
    _ bench: Bench, _ hosts: [Imgd], _ request: String
  ) throws(BenchFailure) -> Double {
    var watches: [Watch] = []
    for host in hosts { watches.append(try Watch(bench, host.socket, request, every: 0)) }
    usleep(UInt32(seconds(bench) * 1e6))
    var replies = 0
    for watch in watches {
      let waits = try watch.end()
      guard waits.failures == 0 else { throw .unavailable("\(waits.failures) hits were refused") }
      replies += waits.replies
    }
    return Double(replies) / seconds(bench)
  }
}
