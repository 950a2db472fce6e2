import Glibc

/// Memory of a gateway that nobody asks, and after it has served.
enum GatewayMemory {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench)
    let imgd = try Imgd(bench)
    let gateway = try ImgdHTTP(bench, before: imgd)
    let meter = ProcessMeter(gateway.child)
    try tell(bench, "idle, private", meter)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let hits = gateway.hits([origin.url("a.png")])
    _ = try hits.ask(Shape(connections: 64, depth: 1), for: bench.scaled(2, quick: 0.2))
    sleep(3)
    try tell(bench, "idle after 64 clients, private", meter)
  }

  private static func tell(
    _ bench: Bench, _ what: String, _ meter: ProcessMeter
  ) throws(BenchFailure) {
    let megabytes = try Double(meter.privateBytes) / 1e6
    bench.report.add(
      Row(
        what: what, figure: Figure(megabytes, "MB"), peer: "8 MB", ratios: Ratios([megabytes / 8]),
        budget: .atMost(1)))
  }
}
