import Glibc

/// A value that several threads share under one lock, as in mailboxes and worker threads. It is a pthread mutex at a
/// fixed address instead of `Synchronization.Mutex`, whose lock the thread sanitizer does not see: it would report
/// races that do not exist. The two pointers are private and live exactly as long as the object.
@safe package final class Locked<Value: Sendable>: @unchecked Sendable {
  // Unchecked, because every access goes through `withLock` or `wait`, which hold the lock.
  private var value: Value
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  package init(_ value: Value) {
    self.value = value
    unsafe mutex = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    // Timed waits end by the clock that `Instant` reads.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  /// Reads or changes the value.
  package func withLock<R>(_ body: (inout Value) -> R) -> R {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Changes the value and wakes one thread that waits for it.
  package func signal<R>(_ body: (inout Value) -> R) -> R {
    defer { unsafe pthread_cond_signal(changed) }
    return withLock(body)
  }

  /// Changes the value and wakes all threads that wait for it.
  package func broadcast(_ body: (inout Value) -> Void) {
    withLock(body)
    unsafe pthread_cond_broadcast(changed)
  }

  /// Sleeps until `take` returns something for the value.
  package func wait<R>(for take: (inout Value) -> R?) -> R {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let found = take(&value) { return found }
      unsafe pthread_cond_wait(changed, mutex)
    }
  }

  /// Sleeps until `take` returns something for the value; nil if the deadline passes first.
  package func wait<R>(until deadline: Instant, for take: (inout Value) -> R?) -> R? {
    var time = timespec(
      tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let found = take(&value) { return found }
      guard unsafe pthread_cond_timedwait(changed, mutex, &time) != ETIMEDOUT else { return take(&value) }
    }
  }
}
