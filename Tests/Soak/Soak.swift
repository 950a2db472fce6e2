// A machine's worth of trouble for one daemon, for minutes or for hours: clients of all kinds ask for pictures while
// origins, disk, decoders, fleet and the daemon itself fail, and each picture that is shown has to be the right one.
//
//   soak --minutes 5 --seed 1 --interposer interposer.so --report DIRECTORY [--only "the disk is full"]
//
// It ends with 1 if anything was wrong. As root, in a mount namespace of its own (`make soak`).

import Glibc
import ImgdSystem
import ImgdTestSupport
import Synchronization

struct Soak {
  private let options: SoakOptions
  private let house: House
  private let ledger = Ledger()

  init(_ options: SoakOptions, in home: String) throws {
    self.options = options
    house = try House(in: home, interposing: options.interposer)
  }

  /// True if nothing was wrong.
  func play() throws -> Bool {
    let start = try warmUp()
    say("Faults for \(options.minutes) minutes, seed \(options.seed)")
    let crowd = Crowd(in: house, ledger)
    let samples = Samples(of: house, crowd.witness, ledger)
    // In the second half one daemon lives through everything, so that it shows whether it grows.
    let faults = Fault.all.filter { options.only == nil || $0.name == options.only }
    do {
      try play(faults, for: options.minutes / 2, samples, seed: options.seed)
      try play(faults.filter { !$0.endsDaemon }, for: options.minutes / 2, samples, seed: options.seed + 1)
      if !crowd.leave() { ledger.wrong("a client waits for an answer that does not come") }
      try checkWhatIsLeft(since: start)
    } catch {
      ledger.wrong("\(error)")
    }
    return try report(samples)
  }

  /// A while without faults, for caches, pools and tables to be as large as they become; what is held afterwards.
  private func warmUp() throws -> Rest {
    let crowd = Crowd(in: house, ledger)
    poll(nil, 0, 10_000)
    guard crowd.leave() else { throw TestFailure("a client waits for an answer without any fault") }
    return try Rest(of: house)
  }

  private func play(_ faults: [Fault], for minutes: Double, _ samples: Samples, seed: UInt64) throws {
    guard !faults.isEmpty else { return }
    let plan = FaultPlan(faults, in: house, ledger, seed: seed)
    let end = Instant.current + .milliseconds(Int(minutes * 60_000))
    while Instant.current < end, !isToldToEnd.load(ordering: .relaxed),
      ledger.all.findings.count < SoakOptions.mostFindings
    {
      try plan.playNext()
      samples.add()
    }
  }

  private func checkWhatIsLeft(since start: Rest) throws {
    if let disagreement = try Rest.disagreement(in: house) { ledger.wrong("index and files differ: \(disagreement)") }
    try house.restart(ending: { house.daemon.kill() })
    if let disagreement = try Rest.disagreement(in: house) {
      ledger.wrong("index and files differ after another start: \(disagreement)")
    }
    for excess in try Rest(of: house).excess(over: start) { ledger.wrong(excess) }
  }

  private func report(_ samples: Samples) throws -> Bool {
    let report = Report(ledger: ledger.all, samples: samples)
    mkdir(options.report, 0o755)
    try write(report.markdown, to: options.report + "/soak.md")
    try write(report.plot.svg, to: options.report + "/soak.svg")
    try write(house.daemon.log, to: options.report + "/imgd.log")
    say(report.markdown)
    return ledger.isClean
  }
}

/// Set by SIGTERM and SIGINT: what is mounted and started has to go, and what has been seen is worth a report.
private let isToldToEnd = Atomic(false)

@main
enum SoakProgram {
  static func main() {
    for number in [SIGTERM, SIGINT] { signal(number) { _ in isToldToEnd.store(true, ordering: .relaxed) } }
    do {
      exit(try isClean() ? 0 : 1)
    } catch {
      say("\(error)")
      exit(2)
    }
  }

  /// What was mounted and started is gone when this returns.
  private static func isClean() throws -> Bool {
    let home = TemporaryDirectory()
    let isClean = try Soak(SoakOptions(CommandLine.arguments), in: home.path).play()
    say(isClean ? "Nothing was wrong." : "Something was wrong.")
    return isClean
  }
}
