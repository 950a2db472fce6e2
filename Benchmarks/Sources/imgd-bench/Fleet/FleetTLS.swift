private import CBench

/// Hits in one server over loopback, with TLS against plain.
enum FleetTLS {
  private static let sizes = [("28 kB", 28_000, 640), ("1 MB", 1_000_000, 64)]
  private static let shape = Shape(connections: 16, depth: 1)

  static func run(_ bench: Bench) throws(BenchFailure) {
    for (name, bytes, count) in sizes {
      let origin = try Nginx(bench, place: .load)
      let urls = try origin.addPictures(bench.scaled(count, quick: count / 4), bytes: bytes)
      let home = try bench.directory("redis-home")
      let authority = try Certificate.make(in: home)
      let (port, tlsPort) = (bench_free_port(), bench_free_port())
      let redis = try Redis(
        bench, place: .load, port: port,
        settings: Redis.ofFleet + [
          "--tls-port", "\(tlsPort)", "--tls-auth-clients", "no", "--tls-ca-cert-file", authority,
          "--tls-cert-file", home + "/server.pem", "--tls-key-file", home + "/server.key",
        ])
      try Fleet.fill(try Fleet.host(bench, redis), urls)
      let plain = try host(bench, "127.0.0.1:\(port)")
      let encrypted = try host(bench, "rediss://127.0.0.1:\(tlsPort)", "Fleet.CAFile=\(authority)")
      let contenders = [encrypted, plain].map { imgd in
        imgd.hits(urls.shuffled(), deliver: "fd", more: Fleet.only, framing: .descriptors)
      }
      let rates = try Contender.compare(
        contenders, shape, rounds: bench.options.rounds, seconds: bench.scaled(0.8, quick: 0.1)
      ).map { $0.map(\.perSecond) }
      bench.report.add(
        Row(
          what: "hit \(name) \(shape.name) with TLS", figure: Figure(median(rates[0]), "/s"),
          peer: "plain: speed", ratios: Ratios(rates[0], to: rates[1]), budget: .atLeast(0.7)))
      bench.endServers()
    }
  }

  private static func host(
    _ bench: Bench, _ server: String, _ more: String...
  ) throws(BenchFailure) -> Imgd {
    let settings = Imgd.roomy + ["Fleet.Server=\(server)", "Fleet.MaxObject=2M"] + more
    let imgd = try Imgd(bench, settings: settings)
    try imgd.awaitFleet("ok")
    return imgd
  }
}
