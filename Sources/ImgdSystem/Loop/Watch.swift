internal import CLinux
import Glibc

/// One descriptor that a loop watches.
package final class Watch {
  package let descriptor: CInt
  let token: UInt64
  private var handler: ((Readiness) -> Void)?
  // Never dangles: the loop calls `disown` on every watch in its table in its deinit.
  private var loop: Unowned<EventLoop>?

  init(descriptor: CInt, interest: Interest, token: UInt64, loop: EventLoop, handler: @escaping (Readiness) -> Void) {
    self.descriptor = descriptor
    self.interest = interest
    self.token = token
    self.loop = Unowned(loop)
    self.handler = handler
  }

  /// The events asked for; a change takes effect at once, even for events that have arrived already.
  package var interest: Interest { didSet { if interest != oldValue { loop?.object.modify(self) } } }

  /// Ends the watch; no event follows, not even one that has arrived already.
  package func cancel() {
    loop?.object.remove(self)
    loop = nil
    // Taken out before it is freed: a deinit of its captures may cancel this watch again.
    _ = handler.take()
  }

  func deliver(_ events: Readiness) {
    let wanted = events.intersection(deliverable)
    guard !wanted.isEmpty, let handler else { return }
    handler(wanted)
  }

  func disown() { loop = nil }

  private var deliverable: Readiness {
    let told = interest.union(.hangup)
    return interest.contains(.read) ? told.union(.halfClosed) : told
  }
}

/// Watches by descriptor, each under a generation of its own. The number of a closed descriptor may be in use again
/// before the old watch is cancelled: the new watch then takes the slot, and the old one is disowned.
struct WatchTable {
  private struct Slot {
    var watch: Watch?
    var generation: UInt32 = 0
  }

  private var slots: [Slot] = []

  /// The token for the next watch of `descriptor`, which need not be a valid one yet.
  func nextToken(for descriptor: CInt) -> UInt64 {
    let isKnown = slots.indices.contains(Int(descriptor))
    let generation = isKnown ? slots[Int(descriptor)].generation &+ 1 : 1
    return UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
  }

  /// Stores the watch in its slot; returns the one it displaces.
  mutating func insert(_ watch: Watch) -> Watch? {
    let index = Int(watch.descriptor)
    while slots.count <= index { slots.append(Slot()) }
    let displaced = slots[index].watch
    slots[index] = Slot(watch: watch, generation: UInt32(watch.token >> 32))
    return displaced
  }

  subscript(token: UInt64) -> Watch? {
    let slot = slots[Int(token & 0xffff_ffff)]
    return slot.generation == UInt32(token >> 32) ? slot.watch : nil
  }

  mutating func remove(_ watch: Watch) { slots[Int(watch.descriptor)].watch = nil }

  func forEach(_ body: (Watch) -> Void) { for slot in slots { slot.watch.map(body) } }
}

/// A reference to an object that outlives it; for code that imgctl shares, as `unowned` needs a runtime.
@safe package struct Unowned<Object: AnyObject> {
  #if hasFeature(Embedded)
    // Nothing checks here whether the object is still alive; every other build of this code does.
    private unowned(unsafe) let reference: Object
  #else
    private unowned let reference: Object
  #endif

  /// Refers to an object that somebody else keeps.
  package init(_ object: Object) {
    #if hasFeature(Embedded)
      unsafe reference = object
    #else
      reference = object
    #endif
  }

  /// The object itself, as long as somebody keeps it.
  package var object: Object {
    #if hasFeature(Embedded)
      unsafe reference
    #else
      reference
    #endif
  }
}

/// Signals as events of a loop. The signals must be blocked (`block`) before any thread is started: a thread that
/// does not block them would receive them with their default action.
package final class SignalWatch {
  private let descriptor: FileDescriptor
  private let watch: Watch

  /// Blocks the signals in this thread and in every thread that it starts from now on.
  package static func block(_ signals: [CInt]) { _ = linux_block_signals(mask(signals)) }

  package init(_ signals: [CInt], on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(SystemFailure) {
    let number = linux_signal_fd(Self.mask(signals))
    descriptor = try FileDescriptor(returned: number, by: "signalfd")
    watch = try loop.watch(number, for: .read) { _ in
      while case let signal = linux_next_signal(number), signal != 0 { handler(signal) }
    }
  }

  deinit { watch.cancel() }

  private static func mask(_ signals: [CInt]) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1) } }
}
