import Glibc
import ImgdTestSupport

/// The instructions of a daemon's control loop, outside the kernel, counted by callgrind.
final class InstructionCount {
  private static let programs = ["valgrind", "callgrind_control", "strip"].map { "/usr/bin/" + $0 }

  /// Why nothing can be counted here; nil when it can.
  static var obstacle: String? {
    programs.first { access($0, X_OK) != 0 }.map { "\($0) is missing" }
  }

  let daemon: MeasuredDaemon
  private let directory: TemporaryDirectory

  init(_ settings: [String] = []) throws {
    directory = TemporaryDirectory()
    // valgrind does not know what Swift says for debuggers, and gives up.
    let program = directory.path + "/imgd"
    let stripped = try ChildProcess.run(
      Self.programs[2], ["--strip-debug", "-o", program, MeasuredDaemon.product])
    guard stripped.code == 0 else { throw TestFailure("strip: \(stripped.output)") }
    daemon = try MeasuredDaemon(
      [
        Self.programs[0], "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no",
        "--callgrind-out-file=\(directory.path)/counts", program,
      ], settings: settings, findsForms: true)
  }

  /// How many instructions the control loop takes meanwhile.
  func count(during body: () throws -> Void) throws -> Int {
    try control("--instr=on")
    try body()
    try control("--instr=off")
    try control("--dump")
    try control("--zero")
    return try takeCount()
  }

  private func control(_ order: String) throws {
    let answer = try ChildProcess.run(Self.programs[1], [order, "\(daemon.pid)"])
    guard answer.code == 0 else { throw TestFailure("callgrind_control: \(answer.output)") }
  }

  /// A dump has a file for each thread; the first one is the control loop's.
  private func takeCount() throws -> Int {
    defer { for name in names { unlink(directory.path + "/" + name) } }
    for name in names {
      let lines = (read(directory.path + "/" + name) ?? "").split(separator: "\n")
      guard lines.contains("thread: 1"),
        let totals = lines.last(where: { $0.hasPrefix("totals: ") }),
        let count = Int(totals.dropFirst(8))
      else { continue }
      return count
    }
    throw TestFailure("callgrind has counted nothing: \(names)")
  }

  private var names: [String] {
    TemporaryDirectory.names(in: directory.path).filter { $0.hasPrefix("counts") }
  }
}
