/// Pictures decoded to pixels in a second.
enum DecodeRates {
  static func run(
    _ bench: Bench, _ origin: Nginx, _ small: PictureSet, _ large: PictureSet
  ) throws(BenchFailure) {
    let count = bench.scaled(100, quick: 40)
    let png = try PictureSet(
      bench, origin, "PNG 640×480", .png, count: count, width: 640, height: 480)
    let webp = try PictureSet(
      bench, origin, "WebP 640×480", .webp, count: count, width: 640, height: 480)
    for set in [small, large, png, webp] { try measure(bench, set) }
  }

  private enum Decoders {
    case ofDaemon(DecodingDaemon)
    case library(PictureSet.Library)
  }

  private static func measure(_ bench: Bench, _ set: PictureSet) throws(BenchFailure) {
    let all = try DecodingDaemon(bench, set, deliver: "pixels")
    let one = try DecodingDaemon(bench, set, workers: 1, deliver: "pixels")
    let libraries: [PictureSet.Library] = set.format == .jpeg ? [.libvips, .libjpeg] : [.libvips]
    let decoders = [Decoders.ofDaemon(all), .ofDaemon(one)] + libraries.map { .library($0) }
    let rates = try bench.rounds(decoders) { decoder throws(BenchFailure) in
      switch decoder {
      case .ofDaemon(let daemon): try daemon.rate()
      case .library(let library): try set.rate(bench, library)
      }
    }
    tell(bench, set.name, rates)
    all.end()
    one.end()
  }

  /// Rates of all decoders, of one, of libvips, and perhaps of libjpeg-turbo.
  private static func tell(_ bench: Bench, _ name: String, _ rates: [[Double]]) {
    let peers: [(library: PictureSet.Library, least: Double)] = [
      (.libvips, 0.95), (.libjpeg, 0.85),
    ]
    for (peer, theirs) in zip(peers, rates.dropFirst(2)) {
      for (index, manner) in ["", ", one decoder"].enumerated() {
        bench.report.add(
          Row(
            what: name + manner, figure: Figure(median(rates[index]), "/s"),
            peer: peer.library.rawValue, ratios: Ratios(rates[index], to: theirs),
            budget: index == 0 ? .atLeast(peer.least) : nil))
      }
    }
  }
}
