// The bench: imgd against its peers, in the same run, on the same machine.
//
// A time says something about a machine; a ratio says something about a program. So nothing is
// printed without what it was compared to: a peer that does the same work, or the floor, a C loop
// that does no work but the kernel's. All of them are driven by the same load, written in C so that
// it costs less than any server. Servers run on one processor and the load on another, and
// contenders take turns (A B C A B C …), so that a change in the machine's mood meets all of them;
// a ratio is the median of the ratios of the rounds, and its spread is printed beside it.
//
// Each measurement is one type in Measurements/ and one line in `Measurement.all`. The peers are
// started by the bench itself, in a directory of its own, and end with it.

import Glibc

@main
struct Main {
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
