/// A library that counts a process's allocations into a file, built here because it must be a
/// shared object while everything else is linked into one program.
struct AllocationCounter {
  let preload: String
  private let counts: String

  init(_ bench: Bench) throws(BenchFailure) {
    preload = bench.path("allocations.so")
    counts = bench.workplace + "/allocations"
    let source = bench.options.packagePath + "/Sources/CBench/preload/allocations.c"
    try Child.finish(
      ["cc", "-O2", "-shared", "-fPIC", "-DCOUNTS=\"\(counts)\"", source, "-o", preload],
      log: bench.path("cc.log"))
  }

  /// Allocations so far.
  var count: Int {
    let bytes = File.read(counts) ?? []
    return Int(bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
