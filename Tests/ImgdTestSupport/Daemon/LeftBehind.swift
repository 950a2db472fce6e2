import Glibc

/// Programs and directories that several tests share and none of them frees. They are ended and removed
/// when the test process exits.
enum LeftBehind {
  private struct Things {
    var programs: Set<pid_t> = []
    var directories: Set<String> = []
    var isAwaitingTheEnd = false
  }

  private static let things = Shared(Things())

  static func note(_ program: pid_t) {
    change { $0.programs.insert(program) }
  }

  static func note(_ directory: String) {
    change { $0.directories.insert(directory) }
  }

  static func forget(_ program: pid_t) {
    things.with { _ = $0.programs.remove(program) }
  }

  static func forget(_ directory: String) {
    things.with { _ = $0.directories.remove(directory) }
  }

  private static func change(_ body: (inout Things) -> Void) {
    let isFirst = things.with { things in
      body(&things)
      defer { things.isAwaitingTheEnd = true }
      return !things.isAwaitingTheEnd
    }
    if isFirst { atexit { LeftBehind.clear() } }
  }

  private static func clear() {
    let left = things.with { things in
      defer { things = Things() }
      return things
    }
    for program in left.programs { kill(program, SIGKILL) }
    for program in left.programs { _ = ChildProcess.wait(program) }
    for directory in left.directories { TemporaryDirectory.remove(directory) }
  }
}
