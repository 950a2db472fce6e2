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
// A watch is known to the kernel by its descriptor and a generation. A batch of events may hold one
// for a descriptor that an earlier event of the same batch has closed, and whose number already
// names something new: its generation no longer fits, and the event is dropped.
//
// A tick ends whatever its handlers do: actions put off to the next tick and timers set by timers
// wait for the next one. Only what is put off to the tick's end may put off more to the same end.

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
/// A thread's loop: what it watches, its timers, and what it puts off to the end of a tick.
@safe package final class EventLoop {
  /// The monotonic clock as it stood when this tick's events arrived.
  package private(set) var now: Instant

  /// The clock as it stands at this very moment: a tick may have gone on for a while.
  package var moment: Instant { clock.now }

  private let epoll: FileDescriptor
  private let clock: LoopClock
  private let ready: UnsafeMutableBufferPointer<linux_ready>
  private var watches = WatchTable()
  private var timers = TimerQueue()
  private let deferred = Agenda()
  private let upcoming = Agenda()
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
    watches.forEach { $0.disown() }
    timers.forEach { $0.disown() }
    unsafe ready.deallocate()
  }

  // MARK: Asking for something

  /// Calls `handler` whenever the descriptor is ready, until the watch is cancelled.
  ///
  /// The watch does not own the descriptor; cancel it before the descriptor is closed.
  package func watch(
    _ descriptor: CInt, for interest: Interest, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemFailure) -> Watch {
    let token = watches.nextToken(for: descriptor)
    guard linux_epoll_add(epoll.number, descriptor, interest.rawValue, token) == 0 else {
      throw SystemFailure("epoll_ctl add", "descriptor \(descriptor)")
    }
    let watch = Watch(
      descriptor: descriptor, interest: interest, token: token, loop: self, handler: handler)
    watches.insert(watch)?.disown()
    return watch
  }

  /// Runs `action` once, when `delay` has passed from this very moment, never before.
  @discardableResult
  package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    let timer = Timer(deadline: clock.now + max(delay, .zero), loop: self, action: action)
    timers.insert(timer)
    return timer
  }

  /// Runs `action` at the end of this tick, after all events and timers.
  package func atTickEnd(_ action: @escaping () -> Void) {
    deferred.add(action)
  }

  /// Runs `action` in the next tick, which then does not wait.
  package func nextTick(_ action: @escaping () -> Void) {
    upcoming.add(action)
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
    let count = waitForEvents(atMost: waiting ? patience : 0)
    now = clock.now
    let resumed = upcoming.runRound()
    for index in 0..<count { unsafe dispatch(ready[index]) }
    let fired = runDueTimers()
    let ended = runDeferred()
    return count > 0 || resumed || fired || ended
  }

  /// How long a tick may sleep, in nanoseconds; below zero it is for ever.
  private var patience: Int64 {
    guard upcoming.isEmpty, deferred.isEmpty else { return 0 }
    guard let deadline = timers.earliest else { return -1 }
    return max(deadline.nanoseconds(since: clock.now), 0)
  }

  /// The one place where the thread sleeps; profiles find it by this name.
  @inline(never)
  private func waitForEvents(atMost patience: Int64) -> Int {
    let count = unsafe linux_epoll_wait(
      epoll.number, ready.baseAddress, CInt(ready.count), patience)
    precondition(count >= 0 || errno == EINTR, "a loop's own epoll descriptor can be waited on")
    return max(Int(count), 0)
  }

  private func dispatch(_ event: linux_ready) {
    watches[event.token]?.hear(Readiness(rawValue: event.events))
  }

  private func runDueTimers() -> Bool {
    let newest = timers.newest
    var fired = false
    while let timer = timers.removeDue(at: now, upTo: newest) {
      timer.fire()
      fired = true
    }
    return fired
  }

  /// What a deferred action defers runs in the same tick: a flush may close a session.
  private func runDeferred() -> Bool {
    guard deferred.runRound() else { return false }
    while deferred.runRound() {}
    return true
  }

  // MARK: What watches and timers ask of their loop

  func modify(_ watch: Watch) {
    _ = linux_epoll_modify(
      epoll.number, watch.descriptor, watch.interest.rawValue, watch.token)
  }

  /// A descriptor that is closed already has left epoll by itself; that is not an error.
  /// (One that was closed and watched anew does not come here: its old watch is disowned.)
  func remove(_ watch: Watch) {
    _ = linux_epoll_remove(epoll.number, watch.descriptor)
    watches.remove(watch)
  }

  func remove(_ timer: Timer) {
    timers.remove(timer)
  }

  /// Holds what a watch leans on for as long as the loop itself.
  func keepAlive(_ object: AnyObject) {
    kept.append(object)
  }
}
