internal import CLinux
import Glibc

/// A program that this process has started, until its end has been noted. It inherits a channel, as descriptor 3, and
/// no environment. One that is no longer referenced is killed and reaped: no process is left behind, and no zombie.
/// Signals and waits go through a descriptor, since a pid may have become another process's.
package final class SpawnedProgram: Sendable {
  /// How a program has ended.
  package enum End: Equatable, Sendable {
    case exited(CInt)
    case signalled(CInt)
    /// Somebody else has reaped it.
    case unknown
  }

  /// The number that the channel has in the program.
  package static let channel: CInt = 3

  /// The number of the process.
  package let pid: Int32
  private let process: FileDescriptor
  private let hasEnded = Locked(false)

  /// Starts a program with a channel; for its parent-death signal, the calling thread is the parent.
  package init(_ path: String, _ arguments: [String], channel: borrowing FileDescriptor) throws(SystemFailure) {
    var pid: pid_t = 0
    let number = unsafe withCStrings([path] + arguments) { unsafe linux_spawn(path, $0, channel.number, &pid) }
    process = try FileDescriptor(returned: number, by: "start", path)
    self.pid = pid
  }

  deinit {
    guard !hasEnded.withLock({ $0 }) else { return }
    kill()
    _ = reap(waiting: true)
  }

  /// A descriptor that is readable when the program has ended.
  package var descriptor: CInt { process.number }

  /// Ends the program at once.
  package func kill() { _ = linux_kill(process.number) }

  /// The end of the program, which is reported once; nil while it runs.
  package func reap(waiting: Bool = false) -> End? {
    var code: CInt = 0
    let state = unsafe linux_reap(process.number, waiting ? 1 : 0, &code)
    guard state != CInt(LINUX_RUNS) else { return nil }
    hasEnded.withLock { $0 = true }
    switch state {
    case CInt(LINUX_EXITED): return .exited(code)
    case CInt(LINUX_SIGNALLED): return .signalled(code)
    default: return .unknown
    }
  }
}

/// Lends the texts as a C program's list of arguments, which ends in nil.
package func withCStrings<R>(_ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R) -> R {
  let copies = unsafe texts.map { unsafe strdup($0) }
  defer { unsafe copies.forEach { unsafe free($0) } }
  return unsafe (copies + [nil]).withUnsafeBufferPointer { list in
    guard let start = list.baseAddress else { preconditionFailure("a list that ends in nil is not empty") }
    return unsafe body(start)
  }
}
