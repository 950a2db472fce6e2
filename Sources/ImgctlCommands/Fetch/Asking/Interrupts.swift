import Glibc
import ImgdSystem

/// The signals that end a run, resize its terminal or give it back, as events of a loop while this object exists.
final class Interrupts {
  private let watch: SignalWatch
  private var before = sigset_t()

  /// Leaves ignored signals ignored, such as SIGHUP under nohup.
  init(on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(SystemFailure) {
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT].filter { !Self.isIgnored($0) }
    // Fills a set that lives in this object.
    unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
    SignalWatch.block(signals)
    watch = try SignalWatch(signals, on: loop, handler)
  }

  deinit { restore() }

  /// Does what may block, such as writing into a pipe that nobody reads; meanwhile signals end the process at once.
  func whileAllowed<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    var blocked = sigset_t()
    // Reads and fills sets that live here and in this object.
    unsafe pthread_sigmask(SIG_SETMASK, &before, &blocked)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &blocked, nil) }
    try body()
  }

  private func restore() { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

  private static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    // Fills an action that lives on this stack; its handler is compared and not called.
    guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
