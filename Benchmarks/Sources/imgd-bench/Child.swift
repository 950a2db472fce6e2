private import CBench
import Glibc

/// A process that the bench has started.
final class Child {
  let pid: Int32
  let log: String
  private var hasEnded = false

  /// `setting` is one NAME=VALUE for the child's environment.
  init(
    _ words: [String], log: String, place: Place = .anywhere, setting: String? = nil
  ) throws(BenchFailure) {
    let joined = words.flatMap { Array($0.utf8CString) }
    // The words are copied into the child by fork before this call returns.
    pid = unsafe bench_spawn(joined, words.count, log, setting, place.processor)
    self.log = log
    guard pid > 0 else { throw .system("fork", words[0]) }
  }

  deinit { end() }

  var isRunning: Bool {
    guard !hasEnded else { return false }
    var status: CInt = 0
    hasEnded = unsafe waitpid(pid, &status, WNOHANG) == pid
    return !hasEnded
  }

  /// Sends SIGTERM, after five seconds SIGKILL, and waits for the end.
  func end() {
    guard isRunning else { return }
    Glibc.kill(pid, SIGTERM)
    for _ in 0..<500 where isRunning { usleep(10_000) }
    if isRunning { Glibc.kill(pid, SIGKILL) }
    _ = wait()
  }

  /// Sends SIGKILL, like a crash, and waits for the end.
  func kill() {
    guard isRunning else { return }
    Glibc.kill(pid, SIGKILL)
    wait()
  }

  /// Waits for the end; returns the exit code, or nil when a signal ended it.
  @discardableResult
  func wait() -> Int? {
    guard !hasEnded else { return nil }
    var status: CInt = 0
    while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    hasEnded = true
    return status & 0x7f == 0 ? Int(status >> 8 & 0xff) : nil
  }

  /// Runs a program to its end; throws with its log unless it succeeds.
  static func finish(_ words: [String], log: String) throws(BenchFailure) {
    let child = try Child(words, log: log)
    guard child.wait() == 0 else {
      throw .unavailable("\(words[0]) failed: \(child.lastWords)")
    }
  }

  var lastWords: String {
    String((File.text(log) ?? "").suffix(400))
  }

  /// Waits until `isReady` returns true.
  func awaitReady(_ name: String, _ isReady: () -> Bool) throws(BenchFailure) {
    for _ in 0..<20_000 {
      if isReady() { return }
      guard isRunning else { break }
      usleep(500)
    }
    throw .unavailable("\(name) did not become ready: \(lastWords)")
  }

  /// Whether a program is on the path.
  static func exists(_ program: String) -> Bool {
    let directories = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
    return (directories + ":/usr/sbin:/sbin").split(separator: ":")
      .contains { File.isProgram("\($0)/\(program)") }
  }
}
