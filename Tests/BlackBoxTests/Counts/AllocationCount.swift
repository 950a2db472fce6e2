import Glibc
import ImgdTestSupport

/// The allocations of a daemon, counted by a library that is preloaded.
final class AllocationCount {
  private static let compiler = "/usr/bin/cc"

  /// Why nothing can be counted here; nil when it can.
  static var obstacle: String? {
    access(compiler, X_OK) == 0 ? nil : "\(compiler) is missing"
  }

  let daemon: MeasuredDaemon
  private let directory: TemporaryDirectory

  init() throws {
    directory = TemporaryDirectory()
    let library = directory.path + "/allocations.so"
    let built = try ChildProcess.run(
      Self.compiler,
      [
        "-O2", "-shared", "-fPIC", "-DCOUNTS=\"\(directory.path)/counts\"",
        "Tests/Allocations/allocations.c", "-o", library,
      ])
    guard built.code == 0 else { throw TestFailure("cc: \(built.output)") }
    daemon = try MeasuredDaemon(environment: ["LD_PRELOAD=" + library])
  }

  /// How much is allocated meanwhile, by all threads.
  func count(during body: () throws -> Void) throws -> Int {
    let before = try soFar
    try body()
    return try soFar - before
  }

  private var soFar: Int {
    get throws {
      guard let bytes = readBytes(directory.path + "/counts"), bytes.count == 8 else {
        throw TestFailure("nothing has been counted")
      }
      return Int(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
  }
}
