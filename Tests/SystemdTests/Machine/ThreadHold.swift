import CTestLinux
import Glibc
import ImgdSystem
import ImgdTestSupport

/// Stops one thread of a process, as a call that never returns would, and lets it go on again.
///
/// Only the thread that holds it may release it; so there is one for that alone.
final class ThreadHold: Sendable {
  private enum State {
    case starting
    case failed(CInt)
    case held
    case letGo
  }

  private let state: Shared<State>
  private let holder: Thread

  /// Stops the thread with this name: `imgd` is the control loop, `imgd-transfer`, `imgd-disk` and
  /// `imgd-reader` are the others.
  init(_ name: String, of process: pid_t) throws {
    let thread = try Self.thread(name, of: process)
    let state = Shared(State.starting)
    self.state = state
    holder = try Thread(name: "thread-hold") { Self.hold(thread, state) }
    let problem: CInt? = state.wait { state in
      switch state {
      case .starting: nil
      case .failed(let code): code
      case .held, .letGo: 0
      }
    }
    guard problem == 0 else {
      throw TestFailure("\(name) is not to be held: errno \(problem ?? 0)")
    }
  }

  deinit { letGo() }

  /// Lets the thread go on.
  func letGo() {
    state.with { $0 = .letGo }
    holder.join()
  }

  private static func thread(_ name: String, of process: pid_t) throws -> pid_t {
    let threads = "/proc/\(process)/task"
    let names = TemporaryDirectory.names(in: threads)
    guard
      let found = names.first(where: { read("\(threads)/\($0)/comm") == name + "\n" }),
      let thread = pid_t(found)
    else { throw TestFailure("process \(process) has no thread \(name)") }
    return thread
  }

  private static func hold(_ thread: pid_t, _ state: Shared<State>) {
    guard test_hold_thread(thread) == 0 else {
      let code = errno
      return state.with { $0 = .failed(code) }
    }
    state.with { $0 = .held }
    while case .held = state.with({ $0 }) {
      // Until the holder has heard of a thread's end, its process does not end either.
      if test_has_thread_ended(thread) != 0 { return }
      poll(nil, 0, 5)
    }
    _ = test_release_thread(thread)
  }
}
