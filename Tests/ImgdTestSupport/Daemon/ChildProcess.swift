internal import CTestLinux
import Glibc

/// Starts programs and waits for their end.
package enum ChildProcess {
  /// Starts a program; its output and errors go to the file `output`. A channel becomes its standard
  /// input and output; `descriptors` become its descriptors from three on. It inherits no others, which
  /// it would keep open while another test waits for them to be closed.
  package static func spawn(
    _ path: String, _ arguments: [String], output: String = "/dev/null", channel: CInt? = nil,
    environment: [String]? = nil, descriptors: [CInt] = []
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    if let channel {
      posix_spawn_file_actions_adddup2(&actions, channel, 0)
      posix_spawn_file_actions_adddup2(&actions, channel, 1)
    }
    // Copies with high numbers, so that none overwrites another.
    let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
    defer { for copy in copies { close(copy) } }
    for (index, copy) in copies.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, copy, CInt(3 + index))
    }
    test_close_from(&actions, CInt(3 + copies.count))
    var attributes = unblockingSignals()
    defer { posix_spawnattr_destroy(&attributes) }
    var pid: pid_t = 0
    let code = withCStrings([path] + arguments) { argv in
      guard let environment else {
        return posix_spawn(&pid, path, &actions, &attributes, argv, environ)
      }
      return withCStrings(environment) { posix_spawn(&pid, path, &actions, &attributes, argv, $0) }
    }
    guard code == 0 else { throw TestFailure("\(path): \(String(cString: strerror(code)))") }
    LeftBehind.note(pid)
    return pid
  }

  /// The test threads block signals, which a program would inherit.
  private static func unblockingSignals() -> posix_spawnattr_t {
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    return attributes
  }

  /// Runs a program to its end; returns its exit code and its output.
  package static func run(
    _ path: String, _ arguments: [String], environment: [String]? = nil
  ) throws -> (code: CInt, output: String) {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let pid = try spawn(path, arguments, output: directory + "/output", environment: environment)
    let code = wait(pid)
    return (code, read(directory + "/output") ?? "")
  }

  /// Waits for the end; the exit code, or minus the signal.
  package static func wait(_ pid: pid_t) -> CInt {
    var status: CInt = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    LeftBehind.forget(pid)
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : -signal
  }

  package static func isRunning(_ pid: pid_t) -> Bool {
    var info = siginfo_t()
    let flags = WEXITED | WNOHANG | WNOWAIT
    return waitid(P_PID, id_t(pid), &info, flags) == 0 && info.si_signo == 0
  }

  /// How the kernel calls the state of any process, such as "S" for one that sleeps; nil when it is gone.
  package static func state(of pid: pid_t) -> Substring? {
    guard let text = read("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    return text[end...].split(separator: " ").dropFirst().first
  }

  /// Waits until a program that was just started is there, as `isThere` finds out. Throws with what it has said
  /// where it ends before that, or takes too long.
  package static func awaitStart(
    of pid: pid_t, saying said: @autoclosure () -> String, _ isThere: () throws -> Bool
  ) throws {
    var hasStarted = false
    _ = try becomes {
      hasStarted = try isThere()
      return hasStarted || !isRunning(pid)
    }
    guard hasStarted else { throw TestFailure("it does not start; it says: \(said())") }
  }

  private static func withCStrings<R>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
  ) -> R {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

/// The programs of this build: in the directory of the test bundle, or in that of `IMGD_PROGRAMS`.
package enum BuiltProduct {
  package static func path(of name: String) -> String {
    if let programs = getenv("IMGD_PROGRAMS") { return String(cString: programs) + "/" + name }
    let program = link("/proc/self/exe")
    // With the toolchain's own runner the bundle is among its arguments.
    let candidates = [program] + CommandLine.arguments
    for candidate in candidates {
      guard let slash = candidate.lastIndex(of: "/") else { continue }
      let path = candidate[..<slash] + "/" + name
      if access(String(path), X_OK) == 0 { return String(path) }
    }
    return ".build/debug/" + name
  }

  private static func link(_ path: String) -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes { room in
      room.assumingMemoryBound(to: CChar.self).baseAddress.map { readlink(path, $0, 4096) } ?? 0
    }
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }
}
