// The bench: imgd against its peers, in the same run, on the same machine.
//
// A time depends on the machine, a ratio on the program. So every figure is printed with the figure
// that it is compared to: that of a peer that does the same work, or of the floor, a C loop that does
// no work but the kernel's. All of them are driven by the same load, written in C so that it costs
// less than any server. Servers run on one processor and the load on another, and contenders take
// turns (A B C A B C …), so that changing load of the machine affects all of them; a ratio is the
// median of the ratios of the rounds, and its spread is printed beside it.
//
// Each measurement is one type in Measurements/ and one line in `Measurement.all`. The bench starts
// the peers itself, in a directory of its own, and ends them.

import Glibc

@main
struct BenchMain {
  static func main() {
    do throws(BenchFailure) {
      let words = Array(CommandLine.arguments.dropFirst())
      if try HiddenVerb.run(words) { return }
      try run(Options(words))
    } catch {
      Output.complain("imgd-bench: \(error.reason)")
      exit(error.exitCode)
    }
  }

  private static func run(_ options: Options) throws(BenchFailure) {
    if options.wantsHelp { return Output.say(Options.usage) }
    let bench = try Bench(options)
    bench.report.begin()
    for measurement in options.measurements {
      try measurement.run(bench)
    }
    bench.report.end()
    guard let path = options.json else { return }
    try File.write(Array(bench.report.record.utf8), to: path)
  }
}
