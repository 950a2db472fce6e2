import Glibc

/// Attacks by one client, each on a daemon of its own with its defaults, and what they cost another.
///
/// The other one is a process that asks for something small at every millisecond. Its waits count from
/// when a request was due: a daemon that stands still for a second is late for a thousand requests. The
/// attacker is another user where the bench is root, since limits and shares are by user.
struct Siege {
  /// The most that another client may wait: for nearly all requests, and for each.
  private static let p99Limit = 0.002
  private static let worstLimit = 0.020

  let bench: Bench

  static let attacks =
    TagAttacks.all + ListingAttacks.all + QueueAttacks.all + DiskAttacks.all
    + MemoryAttacks.all + DeadOrigins.all

  static func run(_ bench: Bench) throws(BenchFailure) {
    for attack in attacks {
      do throws(BenchFailure) {
        try attack.body(Siege(bench: bench))
      } catch {
        bench.report.miss(attack.name, error.reason)
      }
      bench.endServers()
    }
  }

  /// The measurement of one attack, by a word such as `siege:list`.
  static func measurement(_ word: String) -> Measurement? {
    attacks.first { "siege:\($0.name)" == word }.map { attack in
      Measurement(name: word, about: "one attack") { bench throws(BenchFailure) in
        try attack.body(Siege(bench: bench))
      }
    }
  }

  // MARK: Peers

  /// A daemon with its defaults, whose socket anybody may use.
  func daemon() throws(BenchFailure) -> Imgd {
    let imgd = try Imgd(bench, place: .anywhere)
    guard unsafe chmod(bench.workplace, 0o711) == 0, unsafe chmod(imgd.socket, 0o666) == 0 else {
      throw .system("chmod", imgd.socket)
    }
    return imgd
  }

  /// A daemon with so many of the smallest pictures in memory alone, each with a tag of its own and one
  /// that all have.
  func daemon(holding count: Int) throws(BenchFailure) -> Imgd {
    let imgd = try daemon()
    let origin = try Origin(bench)
    for start in stride(from: 0, to: count, by: 5_000) {
      let lines = (start..<min(start + 5_000, count)).map { number in
        Imgd.fetch(
          origin.url(number), deliver: "none",
          more: #","store":"memory","tags":["all","\#(number)"]"#) + "\n"
      }
      let result = try Load(replies: lines.count, batches: 1).run(
        on: imgd.socket, batch: Array(lines.joined().utf8))
      guard result.failures == 0 else { throw .unavailable("\(result.failures) fetches failed") }
    }
    bench.report.note("\(try imgd.stat("memory", "entries")) pictures in memory")
    return imgd
  }

  // MARK: Measuring

  /// Carries out an attack while another client asks, and reports the waits. One that is over soon can be
  /// repeated for some seconds: of few waits the 99th of a hundred is just the worst.
  func watch(
    _ name: String, on imgd: Imgd, asking request: String = #"{"cmd":"ping"}"#,
    every interval: Double = 0.001, atLeast seconds: Double = 0,
    _ attack: () throws(BenchFailure) -> Void
  ) throws(BenchFailure) {
    let watch = try Watch(bench, imgd.socket, request, every: interval)
    let start = now()
    var times = 0
    do throws(BenchFailure) {
      repeat {
        try attack()
        times += 1
      } while now() - start < seconds
    } catch {
      bench.report.miss(name, error.reason)  // what the other client waited is told all the same
    }
    let each = (now() - start) / Double(max(times, 1))
    let waits = try watch.end()
    tell("\(name): p99", waits.p99, limit: Self.p99Limit)
    tell("\(name): worst", waits.worst, limit: Self.worstLimit)
    bench.report.note(
      "p50 \(Figure(waits.p50, "s").text) of \(waits.replies), \(waits.failures) refused; "
        + "the attack took \(Figure(each, "s").text)\(times > 1 ? ", \(times) times" : "")")
  }

  private func tell(_ what: String, _ seconds: Double, limit: Double) {
    bench.report.add(
      Row(
        what: what, figure: Figure(seconds, "s"), peer: Figure(limit, "s").text,
        ratios: Ratios([seconds / limit]), budget: .atMost(1)))
  }
}

/// One attack: a name on the command line, and what happens.
struct Attack: Sendable {
  let name: String
  let body: @Sendable (Siege) throws(BenchFailure) -> Void
}
