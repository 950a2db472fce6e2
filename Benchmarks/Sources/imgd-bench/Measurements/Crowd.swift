private import CBench

/// Many clients at one cold URL: only one request may reach the origin, and every client is answered.
///
/// The time is compared to the floor's for the same number of clients. A slow origin shows that the
/// clients share one transfer, and do not only find the cache filled by the first of them.
enum Crowd {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let room = Int(bench_raise_descriptor_limit()) - 1_000
    let clients = min(bench.scaled(10_000, quick: 1_000), room)
    let origin = try Nginx(bench, place: .load)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let floor = try Floor(bench, replyBytes: 330)
    let imgd = try Imgd(bench, settings: ["Control.MaxClients=\(clients + 10)"])
    var times = (imgd: [Double](), floor: [Double]())
    for round in 0..<bench.options.rounds {
      let url = origin.url("counted/a.png?round=\(round)")
      let line = Array((Imgd.fetch(url, deliver: "none") + "\n").utf8)
      times.imgd.append(try once(clients, imgd.socket, line).seconds)
      times.floor.append(try once(clients, floor.socket, line).seconds)
    }
    bench.report.add(
      Row(
        what: "\(clients) clients, time", figure: Figure(median(times.imgd), "s"), peer: "floor",
        ratios: Ratios(times.imgd, to: times.floor)))
    tell(bench, "origin requests", origin.counted, for: bench.options.rounds)
    let before = origin.counted
    let slow = Imgd.fetch(origin.url("slow/a.png"), deliver: "none") + "\n"
    _ = try once(clients, imgd.socket, Array(slow.utf8))
    tell(bench, "slow origin's requests", origin.counted - before, for: 1)
    bench.report.note("stats: \(try imgd.stat("downloads", "coalesced")) coalesced")
  }

  private static func once(
    _ clients: Int, _ socket: String, _ line: [UInt8]
  ) throws(BenchFailure) -> LoadResult {
    let result = try Load(connections: clients, batches: 1).run(on: socket, batch: line)
    guard result.failures == 0, result.replies == clients else {
      throw .unavailable(
        "\(result.replies) of \(clients) answered, \(result.failures) with a refusal")
    }
    return result
  }

  private static func tell(_ bench: Bench, _ what: String, _ requests: Int, for urls: Int) {
    bench.report.add(
      Row(
        what: what, figure: Figure(Double(requests), ""), peer: "cold URLs",
        ratios: Ratios([Double(requests) / Double(urls)]), budget: .atMost(1)))
  }
}
