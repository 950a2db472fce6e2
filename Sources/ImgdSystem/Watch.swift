/// One descriptor's place in a loop.
package final class Watch {
  package let descriptor: CInt
  let token: UInt64
  private var handler: ((Readiness) -> Void)?
  // Never dangles: the loop calls `disown` on every watch in its table before it goes.
  private unowned var loop: EventLoop?

  init(
    descriptor: CInt, interest: Interest, token: UInt64, loop: EventLoop,
    handler: @escaping (Readiness) -> Void
  ) {
    self.descriptor = descriptor
    self.interest = interest
    self.token = token
    self.loop = loop
    self.handler = handler
  }

  /// What the watch hears of; a change takes effect at once, for events that have arrived too.
  package var interest: Interest {
    didSet { if interest != oldValue { loop?.modify(self) } }
  }

  /// Ends the watch; no event follows, not even one that has arrived already.
  package func cancel() {
    loop?.remove(self)
    loop = nil
    // Taken out before it is let go: what it held may cancel this watch again as it goes.
    _ = handler.take()
  }

  /// Tells the handler of what it still asks for.
  func hear(_ events: Readiness) {
    let told = events.intersection(audible)
    guard !told.isEmpty, let handler else { return }
    handler(told)
  }

  /// Cuts the tie to a loop that no longer knows this watch.
  func disown() {
    loop = nil
  }

  private var audible: Readiness {
    interest.union(interest.contains(.read) ? [.hangup, .halfClosed] : .hangup)
  }
}

/// Watches by descriptor, each under a generation of its own.
///
/// The kernel drops a closed descriptor by itself, and its number may name something new before the
/// old watch is cancelled: the new watch then takes the place, and the old one loses its tie.
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

  /// Gives the watch its place; answers the one it displaces.
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

  mutating func remove(_ watch: Watch) {
    slots[Int(watch.descriptor)].watch = nil
  }

  func forEach(_ body: (Watch) -> Void) {
    for slot in slots { slot.watch.map(body) }
  }
}
