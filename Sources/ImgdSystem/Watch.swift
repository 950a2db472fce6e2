/// One descriptor's place in a loop.
package final class Watch {
  package let descriptor: CInt
  private(set) var handler: (Readiness) -> Void
  var token: UInt64 = 0
  private weak var loop: EventLoop?

  init(
    descriptor: CInt, interest: Interest, loop: EventLoop,
    handler: @escaping (Readiness) -> Void
  ) {
    self.descriptor = descriptor
    self.interest = interest
    self.loop = loop
    self.handler = handler
  }

  /// What the watch hears of; a change takes effect at once.
  package var interest: Interest {
    didSet { if interest != oldValue { loop?.modify(self) } }
  }

  /// Ends the watch; no event follows, not even one that has arrived already.
  package func cancel() {
    loop?.remove(self)
    loop = nil
    handler = { _ in }
  }
}

/// Watches by slot, each with the generation that its slot had when it came.
struct WatchTable {
  private struct Slot {
    var watch: Watch?
    var generation: UInt32 = 0
  }

  private var slots: [Slot] = []
  private var free: [UInt32] = []

  mutating func insert(_ watch: Watch) -> UInt64 {
    let index: UInt32
    if let reused = free.popLast() {
      index = reused
    } else {
      index = UInt32(slots.count)
      slots.append(Slot())
    }
    slots[Int(index)].watch = watch
    return UInt64(slots[Int(index)].generation) << 32 | UInt64(index)
  }

  subscript(token: UInt64) -> Watch? {
    let slot = slots[Int(token & 0xffff_ffff)]
    return slot.generation == UInt32(token >> 32) ? slot.watch : nil
  }

  mutating func remove(_ token: UInt64) {
    let index = Int(token & 0xffff_ffff)
    guard slots[index].generation == UInt32(token >> 32) else { return }
    slots[index].watch = nil
    slots[index].generation &+= 1
    free.append(UInt32(index))
  }
}
