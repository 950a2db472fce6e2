// One thread's cycle: wait, dispatch, flush.
//
// A tick is: wait for events (at most until the next deadline) → read the clock once → hand each
// ready descriptor to its watch → run the timers that are due → run what was put off to the end of
// the tick. Sessions put their flush off to there, so a client that pipelined fifty requests gets
// one write with fifty answers.
//
// A loop belongs to the thread that made it, and so does everything it calls: neither the loop nor
// its watches are Sendable, and the compiler refuses to hand them to another thread. What other
// threads have to say comes through a `Mailbox`.
//
// A descriptor is known to the kernel by slot and generation. A batch of events may hold one for a
// descriptor that an earlier event of the same batch has closed, and whose number already names
// something new: its generation no longer fits, and the event is dropped.

internal import CLinux
import Glibc

/// What a watch wants to hear of, and what it is told.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static let read = Readiness(rawValue: UInt32(LINUX_READ))
  package static let write = Readiness(rawValue: UInt32(LINUX_WRITE))
  /// The other side is gone, or the descriptor is in error. Told unasked.
  package static let hangup = Readiness(rawValue: UInt32(LINUX_HANGUP))
  /// The other side will send no more. Told together with `.read`.
  package static let halfClosed = Readiness(rawValue: UInt32(LINUX_HALF_CLOSED))
  package static let priority = Readiness(rawValue: UInt32(LINUX_PRIORITY))
}

/// The part of `Readiness` that can be asked for: `.read`, `.write`, `.priority`.
package typealias Interest = Readiness

// Safe: the buffer of events is private, allocated once and indexed below its count.
@safe package final class EventLoop {
  /// The monotonic clock as it stood when this tick's events arrived.
  package private(set) var now: Instant

  private let epoll: FileDescriptor
  private let clock: LoopClock
  private let ready: UnsafeMutableBufferPointer<linux_ready>
  private var watches = WatchTable()
  private var timers = TimerQueue()
  private var deferred: [() -> Void] = []
  private var upcoming: [() -> Void] = []
  private var isStopped = false
  private var kept: [AnyObject] = []

  package init(clock: LoopClock = .monotonic) throws(SystemFailure) {
    let number = linux_epoll_create()
    guard number >= 0 else { throw SystemFailure("epoll_create1") }
    epoll = FileDescriptor(owning: number)
    self.clock = clock
    now = clock.now
    unsafe ready = .allocate(capacity: 256)
  }

  deinit {
    unsafe ready.deallocate()
  }

  // MARK: Asking for something

  /// Calls `handler` whenever the descriptor is ready, until the watch is cancelled.
  ///
  /// The watch does not own the descriptor; cancel it before the descriptor is closed.
  package func watch(
    _ descriptor: CInt, for interest: Interest, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemFailure) -> Watch {
    let watch = Watch(descriptor: descriptor, interest: interest, loop: self, handler: handler)
    watch.token = watches.insert(watch)
    let added = linux_epoll_add(epoll.number, descriptor, interest.rawValue, watch.token)
    guard added == 0 else {
      let failure = SystemFailure("epoll_ctl add")
      watches.remove(watch.token)
      throw failure
    }
    return watch
  }

  /// Runs `action` once, when `delay` has passed.
  @discardableResult
  package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    let timer = Timer(deadline: now + max(delay, .zero), loop: self, action: action)
    timers.insert(timer)
    return timer
  }

  /// Runs `action` at the end of this tick, after all events and timers.
  package func atTickEnd(_ action: @escaping () -> Void) {
    deferred.append(action)
  }

  /// Runs `action` in the next tick, which then does not wait.
  package func nextTick(_ action: @escaping () -> Void) {
    upcoming.append(action)
  }

  // MARK: Turning

  /// Turns until `stop` is called.
  package func run() {
    while !isStopped { tick(waiting: true) }
  }

  /// Ends `run` after the tick in which it is called.
  package func stop() {
    isStopped = true
  }

  /// Turns without waiting until nothing is ready, due or put off.
  package func settle() {
    while tick(waiting: false) {}
  }

  /// Turns once; answers whether anything happened.
  @discardableResult
  package func tick(waiting: Bool) -> Bool {
    let count = waitForEvents(timeout: waiting ? timeout() : .zero)
    now = clock.now
    let resumed = runUpcoming()
    for index in 0..<count { unsafe dispatch(ready[index]) }
    let fired = runDueTimers()
    let ended = runDeferred()
    return count > 0 || resumed || fired || ended
  }

  private func timeout() -> Duration? {
    if !upcoming.isEmpty || !deferred.isEmpty { return .zero }
    guard let deadline = timers.earliest else { return nil }
    return max(deadline - clock.now, .zero)
  }

  /// The one place where the thread sleeps; profiles find it by this name.
  @inline(never)
  private func waitForEvents(timeout: Duration?) -> Int {
    let limit = timeout?.nanoseconds ?? -1
    let count = unsafe linux_epoll_wait(
      epoll.number, ready.baseAddress, CInt(ready.count), limit)
    precondition(count >= 0 || errno == EINTR, "a loop's own epoll descriptor can be waited on")
    return max(Int(count), 0)
  }

  private func dispatch(_ event: linux_ready) {
    guard let watch = watches[event.token] else { return }
    watch.handler(Readiness(rawValue: event.events))
  }

  private func runUpcoming() -> Bool {
    guard !upcoming.isEmpty else { return false }
    var actions: [() -> Void] = []
    swap(&actions, &upcoming)
    for action in actions { action() }
    return true
  }

  private func runDueTimers() -> Bool {
    var fired = false
    while let timer = timers.removeDue(at: now) {
      timer.fire()
      fired = true
    }
    return fired
  }

  /// What a deferred action defers runs in the same tick: a flush may close a session.
  private func runDeferred() -> Bool {
    guard !deferred.isEmpty else { return false }
    var index = 0
    while index < deferred.count {
      deferred[index]()
      index += 1
    }
    deferred.removeAll(keepingCapacity: true)
    return true
  }

  // MARK: What watches and timers ask of their loop

  func modify(_ watch: Watch) {
    _ = linux_epoll_modify(
      epoll.number, watch.descriptor, watch.interest.rawValue, watch.token)
  }

  /// A descriptor that is closed already has left epoll by itself; that is not an error.
  func remove(_ watch: Watch) {
    _ = linux_epoll_remove(epoll.number, watch.descriptor)
    watches.remove(watch.token)
  }

  func remove(_ timer: Timer) {
    timers.remove(timer)
  }

  /// Holds what a watch leans on for as long as the loop itself.
  func keepAlive(_ object: AnyObject) {
    kept.append(object)
  }
}
