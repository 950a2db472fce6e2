import Glibc

/// A value that the threads of a test share and wait for.
package final class Shared<Value>: @unchecked Sendable {
  // Unchecked, because every access holds the lock.
  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
    // Not the wall clock, which may be set while a test waits.
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  /// Reads or changes the value, and wakes the waiting threads.
  @discardableResult
  package func with<R>(_ body: (inout Value) -> R) -> R {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(mutex)
    }
    return body(&value)
  }

  /// Waits until `take` returns a value; nil when none comes in time.
  package func wait<R>(atMost limit: Duration = Patience.limit, for take: (inout Value) -> R?) -> R? {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    deadline.tv_sec += Int(limit.components.seconds)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let found = take(&value) { return found }
      guard pthread_cond_timedwait(changed, mutex, &deadline) == 0 else { return take(&value) }
    }
  }
}
