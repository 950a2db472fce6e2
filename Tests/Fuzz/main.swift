// One program with all fuzzers. The first argument names one of them:
//
//   fuzz                       the names, with the sources that each is for
//   fuzz lines [OPTION]... CORPUS   libFuzzer, with its own options
//   fuzz lines --show FILE...  what the target says of files, a line each, for an oracle in another program
//
// `.ci/fuzz` builds it and calls it. A finding is a trap: a precondition in the sources or one of the properties here.

import Glibc

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ examine: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// Set once, before the first input.
nonisolated(unsafe) private var chosen = FuzzTarget.all[0]

private func showTargets() {
  for target in FuzzTarget.all { print(target.name, target.longest, target.sources.joined(separator: " ")) }
}

private func fuzz() -> CInt {
  Coverage.look(at: chosen.modules.union(["fuzz"]))
  // libFuzzer's options begin behind the name of the target.
  var count = CommandLine.argc - 1
  var arguments = CommandLine.unsafeArgv + 1
  return runFuzzer(&count, &arguments) { start, count in
    chosen.examine(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
  }
}

private let words = CommandLine.arguments
if words.count < 2 {
  showTargets()
} else if let target = FuzzTarget.all.first(where: { $0.name == words[1] }) {
  chosen = target
  guard words.dropFirst(2).first == "--show" else { exit(fuzz()) }
  for path in words.dropFirst(3) { print(target.show?(contents(path)) ?? "-") }
} else {
  print("there is no target \(words[1])")
  exit(2)
}
