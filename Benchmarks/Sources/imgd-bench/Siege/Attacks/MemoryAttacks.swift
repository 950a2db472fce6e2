import Glibc

/// Requests and answers that are long, and what the daemon keeps of them.
enum MemoryAttacks {
  /// What may be left of an attack when its client has gone.
  private static let remainder = 16e6

  static let all = [Attack(name: "heads", body: heads), Attack(name: "missing", body: missing)]

  /// Requests with long header fields, which wait for a server that says nothing.
  private static func heads(_ siege: Siege) throws(BenchFailure) {
    let origin = try Origin(siege.bench, .silent)
    let fields = (0..<60).map { #""X-F\#($0)":"\#(String(repeating: "f", count: 1_000))""# }
    let more = #","headers":{\#(fields.joined(separator: ","))}"#
    try measure(siege, "60 kB requests", siege.bench.scaled(9_999, quick: 999)) {
      Imgd.fetch(origin.url($0), deliver: "none", more: more)
    }
  }

  /// Pictures that are not there, told in long heads, and remembered.
  private static func missing(_ siege: Siege) throws(BenchFailure) {
    let origin = try Origin(siege.bench, status: 404, headBytes: 60_000)
    try measure(siege, "404 with 60 kB", siege.bench.scaled(10_000, quick: 1_000), isAnswered: true) {
      Imgd.fetch(origin.url($0), deliver: "none")
    }
  }

  private static func measure(
    _ siege: Siege, _ name: String, _ count: Int, isAnswered: Bool = false,
    _ request: (Int) -> String
  ) throws(BenchFailure) {
    let imgd = try siege.daemon()
    let meter = ProcessMeter(imgd.child)
    let idle = Tally(held: try meter.privateBytes, told: try imgd.heldBytes)
    var peak = idle
    let attacker = try Besieger(imgd)
    try siege.watch(name, on: imgd) { () throws(BenchFailure) in
      for start in stride(from: 0, to: count, by: 500) {
        let numbers = start..<min(start + 500, count)
        try attacker.say(numbers.map(request))
        // Answers and the answer to the ping of each part so far.
        if isAnswered { try attacker.receive(lines: numbers.upperBound + start / 500 + 1) }
        let held = try meter.privateBytes
        if held > peak.held { peak = Tally(held: held, told: try imgd.heldBytes) }
      }
    }
    siege.note(attacker)
    attacker.leave()
    sleep(UInt32(siege.bench.scaled(10, quick: 2)))
    tell(siege, name, idle, peak, left: try meter.privateBytes)
  }

  private static func tell(
    _ siege: Siege, _ name: String, _ idle: Tally, _ peak: Tally, left: Int
  ) {
    let grown = Double(peak.held - idle.held)
    siege.bench.report.add(
      Row(
        what: "\(name): held at most", figure: Figure(grown, "B"), peer: "idle",
        ratios: Ratios([Double(peak.held) / Double(idle.held)])))
    let untold = abs(grown - Double(peak.told - idle.told))
    siege.bench.report.add(
      Row(
        what: "\(name): not in stats", figure: Figure(untold, "B"), peer: "private memory",
        ratios: Ratios([untold / Double(peak.held)]), budget: .atMost(0.2)))
    let after = Double(max(0, left - idle.held))
    siege.bench.report.add(
      Row(
        what: "\(name): left behind", figure: Figure(after, "B"), peer: "16 MB",
        ratios: Ratios([after / remainder]), budget: .atMost(1)))
  }

  /// What the kernel says that the daemon holds, and what `stats` says.
  private struct Tally {
    let held: Int
    let told: Int
  }
}

extension Imgd {
  /// What `stats` says that it holds in memory.
  fileprivate var heldBytes: Int {
    get throws(BenchFailure) { try stat("held", "total") }
  }
}
