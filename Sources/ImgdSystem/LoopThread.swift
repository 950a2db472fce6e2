import Glibc

/// A thread that turns one loop.
///
/// `build` runs on the new thread, makes everything that lives there, and returns the door through
/// which other threads reach it; nothing else leaves. The caller goes on when the door is there.
package final class LoopThread: Sendable {
  private let thread: Thread

  private init(_ thread: Thread) {
    self.thread = thread
  }

  /// Starts a thread with a loop of its own, and hands over the door that `build` made there.
  package static func start<Door: Sendable>(
    name: String, _ build: @escaping @Sendable (EventLoop) throws(SystemFailure) -> Door
  ) throws(SystemFailure) -> (LoopThread, Door) {
    let outcome = Locked<Result<Door, SystemFailure>?>(nil)
    let thread = try Thread(name: name) {
      do throws(SystemFailure) {
        let loop = try EventLoop()
        let door = try build(loop)
        outcome.broadcast { $0 = .success(door) }
        loop.run()
      } catch {
        outcome.broadcast { $0 = .failure(error) }
      }
    }
    do throws(SystemFailure) {
      return (LoopThread(thread), try outcome.wait { $0 }.get())
    } catch {
      thread.join()
      throw error
    }
  }

  /// Waits until the thread has ended; somebody must have stopped its loop.
  package func join() {
    thread.join()
  }
}
