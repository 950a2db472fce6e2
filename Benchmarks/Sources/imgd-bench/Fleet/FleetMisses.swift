import Glibc

/// A miss with the server alive, gone and stopped, against a miss of a daemon that knows of no fleet.
enum FleetMisses {
  /// What a miss may cost more while there is no server.
  private static let limit = 0.001

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let servers = [try Fleet.server(bench), try Fleet.server(bench), try Fleet.server(bench)]
    let hosts = [
      try Imgd(bench, settings: Imgd.roomy), try Fleet.host(bench, servers[0]),
      try Fleet.host(bench, servers[1]), try Fleet.host(bench, servers[2]),
    ]
    servers[1].child.kill()
    kill(servers[2].child.pid, SIGSTOP)
    defer { kill(servers[2].child.pid, SIGCONT) }
    try hosts[2].awaitFleet("down")
    let fuse = try stoppedServerIsNoticed(hosts[3], origin)
    var misses = Misses(hosts: hosts, origin: origin, count: bench.scaled(800, quick: 80))
    for _ in 0..<bench.options.rounds { try misses.round() }
    tell(bench, misses.results)
    bench.report.note(
      "until a stopped server was given up, a miss waited \(Figure(fuse, "s").text) at most")
    bench.endServers()
  }

  /// The first misses wait for a server that does not answer; the longest of them.
  private static func stoppedServerIsNoticed(
    _ host: Imgd, _ origin: Nginx
  ) throws(BenchFailure) -> Double {
    var longest = 0.0
    for number in 0..<50 where try host.fleetState != "down" {
      let start = now()
      try host.expect(Imgd.fetch(origin.url("a.png?first=\(number)"), deliver: "none"))
      longest = max(longest, now() - start)
    }
    try host.awaitFleet("down")
    return longest
  }

  private struct Misses {
    let hosts: [Imgd]
    let origin: Nginx
    let count: Int
    private(set) var results: [[LoadResult]]
    private var serial = 1_000_000

    init(hosts: [Imgd], origin: Nginx, count: Int) {
      self.hosts = hosts
      self.origin = origin
      self.count = count
      results = hosts.map { _ in [] }
    }

    /// Each host in turn, with URLs that nobody has asked for.
    mutating func round() throws(BenchFailure) {
      pinLoad(true)
      for index in hosts.indices {
        let urls = (0..<count).map { origin.url("a.png?n=\(serial + $0)") }
        serial += count
        results[index].append(try hosts[index].hits(urls, deliver: "none").askOnce(.alone))
      }
      pinLoad(false)
    }
  }

  private static func tell(_ bench: Bench, _ results: [[LoadResult]]) {
    for (index, name) in [(1, "alive"), (2, "gone"), (3, "stopped")] {
      for (percentile, path) in [("p50", \LoadResult.p50), ("p99", \LoadResult.p99)] {
        let ours = results[index].map { $0[keyPath: path] }
        let alone = results[0].map { $0[keyPath: path] }
        bench.report.add(
          Row(
            what: "miss, server \(name), \(percentile)", figure: Figure(median(ours), "s"),
            peer: "no fleet \(percentile)", ratios: Ratios(ours, to: alone)))
        guard index > 1, percentile == "p50" else { continue }
        let more = zip(ours, alone).map { max(0, $0 - $1) }
        bench.report.add(
          Row(
            what: "more than without, \(percentile)", figure: Figure(median(more), "s"),
            peer: Figure(limit, "s").text, ratios: Ratios(more.map { $0 / limit }),
            budget: .atMost(1)))
      }
    }
  }
}
