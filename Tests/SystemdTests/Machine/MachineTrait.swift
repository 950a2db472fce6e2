import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

extension Trait where Self == MachineTrait {
  /// For tests that boot machines: skipped where that is impossible, on threads of their own.
  static var machine: MachineTrait { MachineTrait() }
}

struct MachineTrait: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  /// What this machine lacks to boot others; nil when there is nothing.
  static let obstacle: String? = {
    guard geteuid() == 0 else { return "a machine is booted by root alone" }
    let programs = ["/lib/systemd/systemd", "/usr/bin/nsenter", "/usr/bin/unshare"]
    if let missing = programs.first(where: { access($0, X_OK) != 0 }) {
      return "there is no \(missing)"
    }
    let attempt = try? ChildProcess.run(
      "/usr/bin/unshare", ["--mount", "--pid", "--fork", "--cgroup", "--net", "true"])
    guard attempt?.code == 0 else {
      return "namespaces are not to be had: \(attempt?.output ?? "")"
    }
    return nil
  }()

  func prepare(for test: Test) async throws {
    let reason = Comment(rawValue: Self.obstacle ?? "")
    try await ConditionTrait.enabled(if: Self.obstacle == nil, reason).prepare(for: test)
  }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> MachineTrait? {
    testCase == nil ? nil : self
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let thread = try OwnThread()
    defer { thread.end() }
    try await withTaskExecutorPreference(thread, operation: function)
  }
}

/// A thread that runs one test, which may block it.
private final class OwnThread: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var isOver = false
  }

  private let state = Shared(State())

  init() throws {
    _ = try Thread(name: "machine-test") { [self] in work() }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.with { $0.jobs.append(job) }
  }

  func end() {
    state.with { $0.isOver = true }
  }

  private func work() {
    while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// nil when there is nothing more to do.
  private func next() -> UnownedJob? {
    let next: UnownedJob?? = state.wait(atMost: .seconds(3_600)) { state in
      if !state.jobs.isEmpty { return state.jobs.removeFirst() }
      return state.isOver ? .some(nil) : nil
    }
    return next ?? nil
  }
}
