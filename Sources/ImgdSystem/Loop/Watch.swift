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

  /// Calls the handler with those events that it still asks for.
  func deliver(_ events: Readiness) {
    let wanted = events.intersection(deliverable)
    guard !wanted.isEmpty, let handler else { return }
    handler(wanted)
  }

  /// Clears the reference to a loop that no longer has this watch.
  func disown() { loop = nil }

  private var deliverable: Readiness {
    let told = interest.union(.hangup)
    return interest.contains(.read) ? told.union(.halfClosed) : told
  }
}

/// Watches by descriptor, each under a generation of its own.
///
/// The kernel itself drops a closed descriptor, and its number may be in use again before the old
/// watch is cancelled: the new watch then takes the slot, and the old one is disowned.
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
