import ImgdSystem

/// The places that have something to send when a tick ends.
final class ReplyDesk {
  private let loop: EventLoop
  /// Those that have something to send, and those that are sending right now.
  private var writing: [ReplyPlace] = []
  private var flushing: [ReplyPlace] = []
  private lazy var flushAll: () -> Void = { [unowned self] in flushAllWriting() }
  /// How many requests were refused.
  private(set) var errors = 0

  init(loop: EventLoop) { self.loop = loop }

  /// Has a client's answers sent when this tick ends; one action serves all clients.
  func flushAtTickEnd(_ place: ReplyPlace) {
    if writing.isEmpty { loop.atTickEnd(flushAll) }
    writing.append(place)
  }

  /// What is written meanwhile goes into the other array, and is sent in the same tick.
  private func flushAllWriting() {
    swap(&writing, &flushing)
    // By the time a client reads that a purge is over, the event must have been sent to every other
    // client.
    for place in flushing where place.hearsEvents { place.flush() }
    for place in flushing where !place.hearsEvents { place.flush() }
    flushing.removeAll(keepingCapacity: true)
  }

  func countError() { errors += 1 }
}
