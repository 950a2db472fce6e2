import ImgdSystem

/// What the hours have shown, as Markdown and as a picture.
struct Report {
  let ledger: Ledger.Pages
  let samples: Samples

  // MARK: Faults

  var markdown: String {
    var lines = [
      "| fault | times | wrong or lost | recovery p50 | worst |", "| --- | ---: | ---: | ---: | ---: |",
    ]
    for (name, account) in ledger.accounts.sorted(by: { $0.key < $1.key }) {
      let recoveries = account.recoveries.sorted()
      let middle = recoveries.isEmpty ? "" : milliseconds(recoveries[recoveries.count / 2])
      lines.append(
        "| \(name) | \(account.times) | \(account.wrong + account.lost) | \(middle) | "
          + "\(recoveries.last.map(milliseconds) ?? "") |")
    }
    return lines.joined(separator: "\n") + "\n\n" + sums + "\n"
  }

  private var sums: String {
    let answered = ledger.answers.values.reduce(0, +)
    let failed = ledger.errors.values.reduce(0, +)
    var lines = ["\(answered) answers and \(failed) errors in \(Int(samples.minutes.rounded())) minutes."]
    lines.append("Answers: " + list(ledger.answers))
    lines.append("Errors: " + list(ledger.errors))
    for (name, program) in [("daemon", \Samples.Sample.daemon), ("gateway", \Samples.Sample.gateway)] {
      let held = samples.all.map { $0[keyPath: program] }
      let megabytes = held.map { Double($0.anonymousBytes) / 1_048_576 }
      var line = "The \(name) had \(text(megabytes.min() ?? 0)) to \(text(megabytes.max() ?? 0)) MiB of its own, "
      line += "\(held.map(\.descriptors).min() ?? 0) to \(held.map(\.descriptors).max() ?? 0) descriptors, "
      line += "\(held.map(\.threads).min() ?? 0) to \(held.map(\.threads).max() ?? 0) threads."
      if let growth = samples.growth(of: program) {
        line += " Its memory grew by \(text(growth.bytesAnHour / 1_024)) KiB an hour over \(text(growth.hours)) hours"
        line += name == "daemon" ? " of its last life." : "."
      }
      lines.append(line)
    }
    return lines.joined(separator: "\n\n")
  }

  private func list(_ counts: [String: Int]) -> String {
    counts.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  private func milliseconds(_ duration: Duration) -> String { "\(text(duration / .milliseconds(1))) ms" }

  private func text(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  // MARK: Hours

  var plot: Plot {
    Plot(panels: [
      Plot.Panel(
        title: "memory of its own, MiB", isLogarithmic: false,
        lines: [
          line("daemon", "#06c") { Double($0.daemon.anonymousBytes) / 1_048_576 },
          line("gateway", "#c60") { Double($0.gateway.anonymousBytes) / 1_048_576 },
        ]),
      Plot.Panel(
        title: "descriptors", isLogarithmic: false,
        lines: [
          line("daemon", "#06c") { Double($0.daemon.descriptors) },
          line("gateway", "#c60") { Double($0.gateway.descriptors) },
        ]),
      Plot.Panel(
        title: "a hit in memory, µs", isLogarithmic: true,
        lines: [line("p99", "#c06", \.p99), line("median", "#693", \.median)]),
    ])
  }

  private func line(_ name: String, _ colour: String, _ value: (Samples.Sample) -> Double?) -> Plot.Line {
    Plot.Line(
      name: name, colour: colour,
      points: samples.all.compactMap { sample in value(sample).map { (sample.second, $0) } })
  }
}
