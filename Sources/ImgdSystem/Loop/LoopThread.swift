import Glibc

/// A thread that runs one loop.
///
/// `build` runs on the new thread, makes everything that lives there, and returns the one value that
/// other threads may use to reach it, such as a mailbox. The caller waits for that value.
package final class LoopThread: Sendable {
  private let thread: Thread

  private init(_ thread: Thread) { self.thread = thread }

  /// Starts a thread with a loop of its own; returns the value that `build` has made there.
  package static func start<Entry: Sendable>(
    name: String, _ build: @escaping @Sendable (EventLoop) throws(SystemFailure) -> Entry
  ) throws(SystemFailure) -> (LoopThread, Entry) {
    let outcome = Locked<Result<Entry, SystemFailure>?>(nil)
    let thread = try Thread(name: name) {
      do throws(SystemFailure) {
        let loop = try EventLoop()
        defer { loop.close() }
        let entry = try build(loop)
        outcome.broadcast { $0 = .success(entry) }
        loop.run()
      } catch { outcome.broadcast { $0 = .failure(error) } }
    }
    do throws(SystemFailure) { return (LoopThread(thread), try outcome.wait { $0 }.get()) } catch {
      thread.join()
      throw error
    }
  }

  /// Waits until the thread has ended; its loop must have been stopped.
  package func join() { thread.join() }
}
