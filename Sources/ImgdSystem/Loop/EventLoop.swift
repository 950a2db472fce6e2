// One thread's cycle: wait, dispatch, flush. A tick is: wait for events (at most until the next deadline) → read the
// clock once → call the watch of each ready descriptor → receive what is in the mailboxes → run the timers that are
// due → run the actions that were deferred to the end of the tick. Sessions flush there, so a client that pipelined
// fifty requests gets one write with fifty answers.
//
// A loop belongs to the thread that made it, and so does everything it calls: neither the loop nor its watches are
// Sendable, so the compiler does not let them reach another thread. Other threads send messages through a `Mailbox`.
//
// The kernel knows a watch by its descriptor and a generation: an event for a descriptor that an earlier event of the
// batch has closed, and whose number is already in use again, has another generation and is dropped.
//
// Every tick ends: actions deferred to the next tick and timers set by timers wait for the next one, and so do timers
// beyond a fixed number, as a thousand may be due at one moment. Only actions that run at the end of a tick may defer
// more to the same end. Work that is too long for a tick is cut into parts by its owner, who is called for the next
// part when all others have been served.

internal import CLinux
import Glibc

/// The events that a watch asks for, and those that it is called with.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Readiness(rawValue: UInt32(LINUX_READ))
  package static let write = Readiness(rawValue: UInt32(LINUX_WRITE))
  /// The other side is gone, or the descriptor is in error. Reported without being asked for.
  package static let hangup = Readiness(rawValue: UInt32(LINUX_HANGUP))
  /// The other side will send no more. Reported together with `.read`.
  package static let halfClosed = Readiness(rawValue: UInt32(LINUX_HALF_CLOSED))
  package static let priority = Readiness(rawValue: UInt32(LINUX_PRIORITY))
  /// Asks for changes only: an event that has been reported once is not reported again.
  package static let edge = Readiness(rawValue: UInt32(LINUX_EDGE))

  // With plain numbers: the methods that every option set has look up types at run time.

  /// Whether these events include all of the others.
  @inline(__always) package func contains(_ other: Readiness) -> Bool { rawValue & other.rawValue == other.rawValue }

  /// These events and others.
  @inline(__always) package func union(_ other: Readiness) -> Readiness {
    Readiness(rawValue: rawValue | other.rawValue)
  }

  /// The events that are in both.
  @inline(__always) package func intersection(_ other: Readiness) -> Readiness {
    Readiness(rawValue: rawValue & other.rawValue)
  }

  package var isEmpty: Bool { rawValue == 0 }
}

/// The part of `Readiness` that can be asked for: `.read`, `.write`, `.priority`.
package typealias Interest = Readiness

// Safe: the buffer of events is private, allocated once and indexed below its count.
/// A thread's event loop: watches, timers, and actions deferred to the end of a tick.
@safe package final class EventLoop {
  static let mostTimers = 64

  /// The monotonic clock as it stood when this tick's events arrived.
  package private(set) var now: Instant

  /// The number of the tick; no two ticks have the same one, whatever the clock says.
  package private(set) var tickCount: UInt64 = 0
  /// The clock as it stands at this very moment: a tick may have gone on for a while.
  package var moment: Instant { clock.now }

  private let epoll: FileDescriptor
  private let clock: LoopClock
  private let ready: UnsafeMutableBufferPointer<linux_ready>
  private var watches = WatchTable()
  private var timers = TimerQueue()
  private let deferred = DeferredQueue()
  private let upcoming = DeferredQueue()
  private var longWork: () -> Bool = { false }
  private var hasLongWork = false
  private var isStopped = false
  let bell: LoopBell
  /// Each of them receives what is in a mailbox, and returns whether there was anything.
  private var mail: [() -> Bool] = []

  package init(clock: LoopClock = .monotonic) throws(SystemFailure) {
    epoll = try FileDescriptor(returned: linux_epoll_create(), by: "epoll_create1")
    self.clock = clock
    now = clock.now
    bell = try LoopBell()
    unsafe ready = .allocate(capacity: 256)
    _ = try watch(bell.descriptor, for: [.read, .edge]) { _ in }
  }

  deinit {
    watches.forEach { $0.disown() }
    timers.forEach { $0.disown() }
    unsafe ready.deallocate()
  }

  // MARK: Watches, timers and deferred actions

  /// Calls `handler` whenever the descriptor is ready, until the watch is cancelled. The watch does not own the
  /// descriptor; cancel it before the descriptor is closed.
  package func watch(_ descriptor: CInt, for interest: Interest, _ handler: @escaping (Readiness) -> Void)
    throws(SystemFailure) -> Watch
  {
    let token = watches.nextToken(for: descriptor)
    guard linux_epoll_add(epoll.number, descriptor, interest.rawValue, token) == 0 else {
      throw SystemFailure("epoll_ctl add", "descriptor \(descriptor)")
    }
    let watch = Watch(descriptor: descriptor, interest: interest, token: token, loop: self, handler: handler)
    watches.insert(watch)?.disown()
    return watch
  }

  /// Runs `action` once, when `delay` has passed since the call, never before.
  @discardableResult package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    let timer = Timer(deadline: clock.now + max(delay, .zero), loop: self, action: action)
    timers.insert(timer)
    return timer
  }

  /// Runs `action` at the end of this tick, after all events and timers.
  package func atTickEnd(_ action: @escaping () -> Void) { deferred.add(action) }

  /// Runs `action` in the next tick, which then does not wait.
  package func nextTick(_ action: @escaping () -> Void) { upcoming.add(action) }

  /// Sets the owner of work that is longer than a tick: `part` is called at the end of a tick for the
  /// next part, and returns whether there is more.
  package func share(_ part: @escaping () -> Bool) { longWork = part }

  /// Has the owner of long work called from the end of this tick on.
  package func beginLongWork() { hasLongWork = true }

  // MARK: Running

  /// Runs ticks until `stop` is called.
  package func run() { while !isStopped { tick(waiting: true) } }

  /// Ends `run` after the tick in which it is called.
  package func stop() { isStopped = true }

  /// Frees everything that the loop would still call, most of which holds the loop itself: without this
  /// none of it is ever freed. For a loop that has stopped; its watches and timers never fire again.
  package func close() {
    var (closedWatches, closedTimers) = (WatchTable(), TimerQueue())
    var closedMail: [() -> Bool] = []
    // Taken out before they are freed: a deinit of their captures may use this loop.
    swap(&closedWatches, &watches)
    swap(&closedTimers, &timers)
    swap(&closedMail, &mail)
    // All of them first: whatever is freed by one may cancel others.
    closedWatches.forEach { $0.disown() }
    closedTimers.forEach { $0.disown() }
    closedWatches.forEach { $0.cancel() }
    closedTimers.forEach { $0.cancel() }
    deferred.removeAll()
    upcoming.removeAll()
    hasLongWork = false
    longWork = { false }
    // Nothing uses it any more, so it might be freed before the others are disowned.
    withExtendedLifetime(closedMail) {}
  }

  /// Runs ticks without waiting until nothing is ready, due or deferred.
  package func settle() { while tick(waiting: false) {} }

  /// Runs one tick; returns whether anything happened.
  @discardableResult package func tick(waiting: Bool) -> Bool {
    let patience = waiting ? patience : 0
    let count = waitForEvents(atMost: patience != 0 && bell.fallAsleep() ? patience : 0)
    let isCalled = bell.wakeUp()
    now = clock.now
    tickCount += 1
    let resumed = upcoming.runRound()
    for index in 0..<count { unsafe dispatch(ready[index]) }
    let received = isCalled && receiveMail()
    let fired = runDueTimers()
    let ended = runDeferred()
    let worked = runLongWork()
    return count > 0 || resumed || received || fired || ended || worked
  }

  /// How long a tick may sleep, in nanoseconds; negative for no limit.
  private var patience: Int64 {
    guard upcoming.isEmpty, deferred.isEmpty, !hasLongWork else { return 0 }
    guard let deadline = timers.earliest else { return -1 }
    return max(deadline.nanoseconds(since: clock.now), 0)
  }

  /// The one place where the thread sleeps; profiles find it by this name.
  @inline(never) private func waitForEvents(atMost patience: Int64) -> Int {
    let count = unsafe linux_epoll_wait(epoll.number, ready.baseAddress, CInt(ready.count), patience)
    precondition(count >= 0 || errno == EINTR, "epoll_wait fails only when interrupted")
    return max(Int(count), 0)
  }

  private func dispatch(_ event: linux_ready) { watches[event.token]?.deliver(Readiness(rawValue: event.events)) }

  private func receiveMail() -> Bool {
    var received = false
    for receive in mail where receive() { received = true }
    return received
  }

  private func runDueTimers() -> Bool {
    let newest = timers.newest
    var fired = 0
    while fired < Self.mostTimers, let timer = timers.removeDue(at: now, upTo: newest) {
      timer.fire()
      fired += 1
    }
    return fired > 0
  }

  /// Actions that a deferred action defers run in the same tick: a flush may close a session.
  private func runDeferred() -> Bool {
    guard deferred.runRound() else { return false }
    while deferred.runRound() {}
    return true
  }

  /// Has a part of the work done; what it has written is sent in the same tick.
  private func runLongWork() -> Bool {
    guard hasLongWork else { return false }
    hasLongWork = longWork()
    _ = runDeferred()
    return true
  }

  // MARK: Calls from watches and timers

  func modify(_ watch: Watch) {
    _ = linux_epoll_modify(epoll.number, watch.descriptor, watch.interest.rawValue, watch.token)
  }

  /// The kernel itself removes a closed descriptor from epoll; that is not an error. (A descriptor
  /// that was closed and watched again does not come here: its old watch is disowned.)
  func remove(_ watch: Watch) {
    _ = linux_epoll_remove(epoll.number, watch.descriptor)
    watches.remove(watch)
  }

  func remove(_ timer: Timer) { timers.remove(timer) }

  /// Has a mailbox looked into whenever the bell has been rung, for as long as the loop exists.
  func addMail(_ receive: @escaping () -> Bool) { mail.append(receive) }
}

/// Actions that are deferred to a later point of a loop's cycle. Two arrays take turns: an action that a running one
/// adds goes into the other array, so a round ends, and no array changes while it is freed.
private final class DeferredQueue {
  /// A closure that is itself an element would be wrapped in another one, which has to be allocated.
  private struct Action { let run: () -> Void }

  private var waiting: [Action] = []
  private var running: [Action] = []

  var isEmpty: Bool { waiting.isEmpty }

  func add(_ action: @escaping () -> Void) { waiting.append(Action(run: action)) }

  func removeAll() {
    var removed: [Action] = []
    swap(&removed, &waiting)
  }

  /// Runs the waiting actions in order; returns whether there were any.
  func runRound() -> Bool {
    guard !waiting.isEmpty else { return false }
    swap(&waiting, &running)
    for action in running { action.run() }
    running.removeAll(keepingCapacity: true)
    return true
  }
}
