/// The memory of the idle daemon, and its overhead for each picture.
///
/// Counted is the growth of the process's anonymous memory and of the pages of its memfds, relative to
/// the bytes of the pictures; with a disk tier, its index is part of it. Redis holds the same bytes as values, for comparison.
enum Memory {
  private struct Cargo {
    let name: String
    let count: Int
    let bytes: Int
    let budget: Budget?
  }

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    if bench.hasImgd {
      try idle(bench)
    } else {
      bench.report.miss("imgd", "missing at \(bench.options.imgd)")
    }
    let cargoes = [
      Cargo(
        name: "28 kB picture", count: bench.scaled(2_000, quick: 200), bytes: 28_000,
        budget: .atMost(1.1)),
      Cargo(
        name: "1 kB picture", count: bench.scaled(100_000, quick: 5_000), bytes: 1_000,
        budget: .atMost(1.4)),
    ]
    for cargo in cargoes {
      try origin.add(PNGFile.make(bytes: cargo.bytes, seed: 1), as: "\(cargo.bytes).png")
      let redis = bench.start("redis") { () throws(BenchFailure) in try heldByRedis(bench, cargo) }
      if let redis { tell(bench, "redis", cargo, held: redis, budget: nil) }
      guard bench.hasImgd else { continue }
      for (what, settings) in [("imgd", ["Disk.Enabled=no"]), ("imgd, in both tiers", [])] {
        tell(
          bench, what, cargo, held: try heldByImgd(bench, cargo, origin, settings),
          budget: settings.isEmpty ? nil : cargo.budget)
      }
    }
  }

  private static func idle(_ bench: Bench) throws(BenchFailure) {
    let imgd = try Imgd(bench)
    defer { imgd.child.end() }
    let resident = Double(try ProcessMeter(imgd.child).residentBytes)
    bench.report.add(
      Row(
        what: "imgd idle, resident", figure: Figure(resident, "B"), peer: "12 MB",
        ratios: Ratios([resident / 12e6]), budget: .atMost(1)))
    let own = Double(try ProcessMeter(imgd.child).anonymousBytes)
    bench.report.add(
      Row(
        what: "imgd idle, private", figure: Figure(own, "B"), peer: "3 MB",
        ratios: Ratios([own / 3e6]), budget: .atMost(1)))
    guard let redis = bench.start("redis", { () throws(BenchFailure) in try Redis(bench) }) else {
      return
    }
    defer { redis.child.end() }
    let peer = Double(try ProcessMeter(redis.child).residentBytes)
    bench.report.add(
      Row(
        what: "imgd idle, resident", figure: Figure(resident, "B"), peer: "redis idle",
        ratios: Ratios([resident / peer])))
  }

  private static func tell(
    _ bench: Bench, _ who: String, _ cargo: Cargo, held: Double, budget: Budget?
  ) {
    let payload = Double(cargo.count * cargo.bytes)
    bench.report.add(
      Row(
        what: "\(who), \(cargo.name)", figure: Figure(held / Double(cargo.count), "B"),
        peer: "its payload", ratios: Ratios([held / payload]), budget: budget))
  }

  private static func heldByImgd(
    _ bench: Bench, _ cargo: Cargo, _ origin: Nginx, _ settings: [String]
  ) throws(BenchFailure) -> Double {
    let imgd = try Imgd(
      bench,
      settings: [
        "Memory.Capacity=800M", "Memory.Preferred=700M", "Downloads.MaxActive=16",
        "Downloads.MaxPerHost=16",
      ] + settings)
    defer { imgd.child.end() }
    let facts = ProcessMeter(imgd.child)
    try imgd.expect(Imgd.fetch(origin.url("\(cargo.bytes).png"), deliver: "none"))
    let before = try facts.anonymousBytes + facts.memfdBytes
    try imgd.fetchAll((0..<cargo.count).map { origin.url("\(cargo.bytes).png?n=\($0)") })
    // Some are not stored where too much waits for the disk.
    if settings.isEmpty { try imgd.awaitStored(cargo.count / 10 * 9) }
    let entries = try imgd.stat("memory", "entries")
    guard entries > cargo.count else {
      throw .unavailable("the tier holds \(entries) entries after \(cargo.count) fetches")
    }
    let charged = Double(try imgd.stat("memory", "bytes")) / Double(entries * cargo.bytes)
    bench.report.note("stats charge \(decimal(charged)) × the payload")
    return Double(try facts.anonymousBytes + facts.memfdBytes - before)
  }

  private static func heldByRedis(_ bench: Bench, _ cargo: Cargo) throws(BenchFailure) -> Double {
    let redis = try Redis(bench)
    defer { redis.child.end() }
    let facts = ProcessMeter(redis.child)
    let value = PNGFile.make(bytes: cargo.bytes, seed: 1)
    let before = try facts.anonymousBytes
    for start in stride(from: 0, to: cargo.count, by: 1_000) {
      let some = start..<min(start + 1_000, cargo.count)
      let commands = some.map {
        Redis.command([Array("SET".utf8), Array("picture \($0)".utf8), value])
      }
      _ = try Load(replies: some.count, batches: 1).run(
        on: redis.socket, batch: Array(commands.joined()))
    }
    return Double(try facts.anonymousBytes - before)
  }
}
