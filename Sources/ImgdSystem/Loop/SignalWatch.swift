internal import CLinux
import Glibc

/// Signals as events of a loop.
///
/// The signals must be blocked (`block`) before any thread is started: a thread that does not block
/// them would receive them with their default action.
package final class SignalWatch {
  private let descriptor: FileDescriptor
  private let watch: Watch

  /// Blocks the signals in this thread and in every thread that it starts from now on.
  package static func block(_ signals: [CInt]) { _ = linux_block_signals(mask(signals)) }

  package init(_ signals: [CInt], on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(SystemFailure) {
    let number = linux_signal_fd(Self.mask(signals))
    guard number >= 0 else { throw SystemFailure("signalfd") }
    descriptor = FileDescriptor(owning: number)
    watch = try loop.watch(number, for: .read) { _ in
      while case let signal = linux_next_signal(number), signal != 0 { handler(signal) }
    }
  }

  deinit { watch.cancel() }

  private static func mask(_ signals: [CInt]) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1) } }
}
