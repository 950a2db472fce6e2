/// Pixels that the daemon holds, in the client's memory: a mapped descriptor against a copy.
///
/// The client maps what it gets and unmaps it again. A second figure also reads one byte of every page.
enum PixelHits {
  private struct Size {
    let name: String
    let width: Int
    let height: Int

    var bytes: Int { width * height * 4 }
  }

  private static let sizes = [
    Size(name: "2 MB", width: 800, height: 655), Size(name: "33 MB", width: 3_200, height: 2_580),
  ]

  static func run(_ bench: Bench, _ origin: Nginx) throws(BenchFailure) {
    let imgd = try Imgd(bench, settings: Imgd.roomy)
    guard let redis = bench.start("redis", { () throws(BenchFailure) in try Redis(bench) }) else {
      return
    }
    for size in sizes {
      let set = try PictureSet(
        bench, origin, size.name, .jpeg, count: 1, width: size.width, height: size.height)
      try redis.set(size.name, [UInt8](repeating: 0x78, count: size.bytes))
      let hits = try [Framing.mappedDescriptors, .touchedDescriptors].map {
        framing throws(BenchFailure) in
        try self.hits(imgd, set.urls[0], framing)
      }
      for shape in [Shape.alone, Shape(connections: 16, depth: 1)] {
        try compare(
          bench, "\(size.name) of pixels \(shape.name)", hits, redis.get(size.name), shape)
      }
    }
    imgd.child.end()
    redis.child.end()
  }

  private static func hits(
    _ imgd: Imgd, _ url: String, _ framing: Framing
  ) throws(BenchFailure) -> Contender {
    try imgd.expect(Imgd.fetch(url, deliver: "pixels"))
    let again = try imgd.expect(Imgd.fetch(url, deliver: "pixels"))
    guard again.contains(#""source":"memory""#) else {
      throw .unavailable("the pixels were not kept: \(again)")
    }
    return imgd.hit(url, deliver: "pixels", framing: framing)
  }

  private static func compare(
    _ bench: Bench, _ what: String, _ hits: [Contender], _ peer: Contender, _ shape: Shape
  ) throws(BenchFailure) {
    let results = try Contender.compare(
      hits + [peer], shape, rounds: bench.options.rounds, seconds: bench.scaled(0.5, quick: 0.2))
    for result in results.dropLast().joined() where result.descriptors != result.replies {
      throw .unavailable("\(result.descriptors) descriptors for \(result.replies) replies")
    }
    let rates = results.map { $0.map(\.perSecond) }
    for (index, manner) in ["", ", read"].enumerated() {
      bench.report.add(
        Row(
          what: what + manner, figure: Figure(median(rates[index]), "/s"), peer: peer.name,
          ratios: Ratios(rates[index], to: rates[2]), budget: index == 0 ? .atLeast(20) : nil))
    }
  }
}
