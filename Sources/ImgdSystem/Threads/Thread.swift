internal import CLinux
import Glibc

/// A thread with a name; joined once, or detached when its owner is freed.
package final class Thread: Sendable {
  private let handle: Locked<pthread_t?>

  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
    let start = ThreadStart(name: name, body: body)
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, nil, runThread, Unmanaged.passRetained(start).toOpaque())
    guard code == 0 else {
      unsafe Unmanaged.passUnretained(start).release()
      throw SystemFailure("pthread_create", name, errno: code)
    }
    handle = Locked(thread)
  }

  deinit { if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) } }

  /// Waits until the thread has ended.
  package func join() {
    guard let thread = handle.withLock({ $0.take() }) else { return }
    pthread_join(thread, nil)
  }
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
  unsafe linux_name_thread(start.name)
  start.body()
  return nil
}
