import Glibc

/// What a client waits for a hit beside crowds, floods and slow clients, against what it waits alone.
///
/// The daemon (and the gateway, and each peer) is on one processor, load and witness on the other one. Where the bench is
/// root, the threads that answer and the witness are real-time: the witness interrupts the load, which so costs it
/// nothing but what the kernel does not let be interrupted, and what else the machine does counts little. (A server that
/// is busy all the time then stands still for up to 50 ms of each second, as the kernel leaves that to others.) The
/// witness asks every two milliseconds, and its waits count from when a request was due. What it waits while the load
/// stays is judged; what it waits as it comes and goes is told. Alone and beside take turns, and so does a peer under
/// the same load, which shows what is the machine's: the floor (an echo in C), for HTTP an nginx with the same picture,
/// and a redis where the floor would wait for ever.
struct BesideLoad {
  /// What may be left of a load in the memory of a process when it has gone.
  private static let rest = 8 << 20
  /// Memory is given back at most twice a minute.
  private static let longestReturn = 45.0
  private static let limit = 2.0

  static let cases = ConnectionLoads.all + RequestLoads.all + ClientLoads.all + GatewayLoads.all

  static func run(_ bench: Bench) throws(BenchFailure) {
    for one in cases {
      do throws(BenchFailure) { try measure(one, bench) } catch { bench.report.miss(one.name, error.reason) }
      bench.endServers()
    }
  }

  /// The measurement of one load, by a word such as `load:idle`.
  static func measurement(_ word: String) -> Measurement? {
    cases.first { "load:\($0.name)" == word }.map { one in
      Measurement(name: word, about: one.about) { bench throws(BenchFailure) in try measure(one, bench) }
    }
  }

  private static func measure(_ one: LoadCase, _ bench: Bench) throws(BenchFailure) {
    pinLoad(true)
    let stage = try LoadStage(bench, one)
    var series = stage.witnesses.map { BesideSeries($0) }
    let meters = stage.meters
    // The first requests make what stays.
    for witness in stage.witnesses { _ = try witness.begin(bench).end() }
    let before = try meters.map { meter throws(BenchFailure) in try Holding(meter.meter) }
    var peaks = before
    let told = try stage.imgd.stat("held", "total")
    var (toldAtPeak, note) = (told, "")
    for _ in 0..<bench.options.rounds {
      for index in series.indices { try series[index].waitAlone(bench) }
      for index in series.indices {
        let witness = series[index].witness
        let load = try series[index].waitForComing(bench) { () throws(BenchFailure) in try one.begin(stage, witness) }
        try series[index].waitBeside(bench) { () throws(BenchFailure) in
          let end = now() + bench.scaled(3, quick: 1)
          while now() < end {
            for (index, meter) in meters.enumerated() { peaks[index].rise(to: try Holding(meter.meter)) }
            usleep(250_000)
          }
        }
        if witness.name == "imgd" { toldAtPeak = max(toldAtPeak, try stage.imgd.stat("held", "total")) }
        let said = try series[index].waitForGoing(bench) { () throws(BenchFailure) in try load.end() }
        if witness.name == "imgd" { note = said }
      }
    }
    for one in series { one.tell(bench.report, limit: limit) }
    bench.report.note("the last load: \(note)")
    for (index, meter) in meters.enumerated() {
      try awaitReturn(meter, before[index], peaks[index], bench)
    }
    bench.report.note(
      "held by stats: \(told) bytes before, \(toldAtPeak) at the peak, \(try stage.imgd.stat("held", "total")) after")
  }

  private static func awaitReturn(
    _ meter: (name: String, meter: ProcessMeter), _ before: Holding, _ peak: Holding, _ bench: Bench
  ) throws(BenchFailure) {
    let start = now()
    var after = try Holding(meter.meter)
    while !after.isBack(to: before, rest: rest), now() - start < longestReturn {
      usleep(250_000)
      after = try Holding(meter.meter)
    }
    let left = Double(max(0, after.anonymous - before.anonymous))
    bench.report.add(
      Row(
        what: "  \(meter.name): left behind", figure: Figure(left, "B"), peer: Figure(Double(rest), "B").text,
        ratios: Ratios([left / Double(rest)]), budget: .atMost(1)))
    bench.report.add(
      Row(
        what: "  \(meter.name): descriptors after", figure: Figure(Double(after.descriptors), ""), peer: "before",
        ratios: Ratios([Double(after.descriptors) / Double(before.descriptors)]), budget: .atMost(1)))
    bench.report.note(
      "\(meter.name) before: \(before.text); peak: \(peak.text); after \(decimal(now() - start)) s: \(after.text)")
  }
}

/// The waits of one witness, alone and beside a load in turn.
struct BesideSeries {
  let witness: Witness
  private var alone: [Waits] = []
  private var coming: [Waits] = []
  private var beside: [Waits] = []
  private var going: [Waits] = []

  init(_ witness: Witness) { self.witness = witness }

  mutating func waitAlone(_ bench: Bench) throws(BenchFailure) {
    let post = try witness.begin(bench)
    usleep(UInt32(bench.scaled(3, quick: 1) * 1_000_000))
    alone.append(try post.end())
  }

  mutating func waitForComing(
    _ bench: Bench, _ begin: () throws(BenchFailure) -> any SideLoad
  ) throws(BenchFailure) -> any SideLoad {
    let post = try witness.begin(bench)
    let load = try begin()
    coming.append(try post.end())
    return load
  }

  mutating func waitBeside(_ bench: Bench, _ staying: () throws(BenchFailure) -> Void) throws(BenchFailure) {
    let post = try witness.begin(bench)
    try staying()
    beside.append(try post.end())
  }

  mutating func waitForGoing(
    _ bench: Bench, _ end: () throws(BenchFailure) -> String
  ) throws(BenchFailure) -> String {
    let post = try witness.begin(bench)
    let said = try end()
    usleep(500_000)
    going.append(try post.end())
    return said
  }

  func tell(_ report: BenchReport, limit: Double) {
    report.add(
      Row(
        what: "\(witness.name) beside: p99", figure: Figure(median(beside.map(\.p99)), "s"), peer: "alone",
        ratios: Ratios(beside.map(\.p99), to: alone.map(\.p99)),
        budget: witness.isJudged ? .atMost(limit) : nil))
    for (name, waits) in [("alone", alone), ("beside", beside), ("as it comes", coming), ("as it goes", going)] {
      report.note(
        "\(name): p50 \(figures(waits.map(\.p50))), p99 \(figures(waits.map(\.p99))), "
          + "worst \(figures(waits.map(\.worst)))")
    }
  }

  private func figures(_ seconds: [Double]) -> String {
    seconds.map { Figure($0, "s").text.filter { $0 != " " } }.joined(separator: "/")
  }
}
