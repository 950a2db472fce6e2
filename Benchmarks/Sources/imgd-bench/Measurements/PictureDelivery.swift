/// The delivery of a picture to the client: a descriptor from the daemon, the bytes from the others.
///
/// The client calls fstat on the descriptor and closes it. A second figure also maps it and reads one
/// byte of every page, which is the cost of reading the whole picture; the others' bytes arrive in one
/// warm buffer, which is their best case.
enum PictureDelivery {
  private static let sizes = [("28 kB", 28_000, 2.0), ("2 MB", 2_000_000, 20.0)]

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench)
    let imgd = bench.start("imgd") { () throws(BenchFailure) in try Imgd(bench) }
    let redis = bench.start("redis") { () throws(BenchFailure) in try Redis(bench) }
    for (name, bytes, least) in sizes {
      let file = "\(bytes).png"
      let picture = PNGFile.make(bytes: bytes, seed: 1)
      try origin.add(picture, as: file)
      try redis?.set(file, picture)
      let url = origin.url(file)
      try imgd?.expect(Imgd.fetch(url, deliver: "none"))
      let own = [
        imgd?.hit(url, deliver: "fd", framing: .descriptors),
        imgd?.hit(url, deliver: "fd", framing: .touchedDescriptors),
      ].compactMap { $0 }
      let peers = [redis?.get(file), origin.get(file)].compactMap { $0 }
      for shape in [Shape(connections: 1, depth: 1), Shape(connections: 16, depth: 1)] {
        try compare(bench, "\(name) \(shape.name)", own, peers, shape, .atLeast(least))
      }
    }
  }

  private static func compare(
    _ bench: Bench, _ what: String, _ own: [Contender], _ peers: [Contender], _ shape: Shape,
    _ budget: Budget
  ) throws(BenchFailure) {
    let results = try Contender.compare(
      own + peers, shape, rounds: bench.options.rounds, seconds: bench.scaled(0.5, quick: 0.1))
    for result in results.prefix(own.count).joined() where result.descriptors != result.replies {
      throw .unavailable("\(result.descriptors) descriptors for \(result.replies) replies")
    }
    let rates = results.map { $0.map(\.perSecond) }
    let manners = ["fd", "fd, read"].prefix(own.count)
    for (manner, ours) in zip(manners, rates) {
      for (peer, theirs) in zip(peers, rates.dropFirst(own.count)) {
        bench.report.add(
          Row(
            what: "\(what) \(manner)", figure: Figure(median(ours), "/s"), peer: peer.name,
            ratios: Ratios(ours, to: theirs), budget: manner == "fd" ? budget : nil))
      }
    }
    guard peers.count == 2, let redis = rates.dropFirst(own.count).first, let nginx = rates.last
    else { return }
    bench.report.add(
      Row(
        what: "\(what) redis", figure: Figure(median(redis), "/s"), peer: "nginx",
        ratios: Ratios(redis, to: nginx)))
  }
}
