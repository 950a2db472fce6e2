import Glibc

/// Bytes on their way to a peer, and the descriptors that ride on some of them.
///
/// Writers append to `bytes`. A descriptor is attached to the byte that is appended next, and goes
/// out in a `sendmsg` that begins with that byte and ends before the next one that carries another.
package struct Outbox: ~Copyable {
  private final class Passenger {
    let descriptor: FileDescriptor
    let position: Int

    init(_ descriptor: consuming FileDescriptor, at position: Int) {
      self.descriptor = descriptor
      self.position = position
    }
  }

  /// A buffer that grew beyond this is given back when it runs empty, and as much that is sent may
  /// stay in front of the rest while it does not.
  private static let keptCapacity = 64 * 1024

  /// Everything not yet sent, after `head` bytes that are.
  package var bytes: [UInt8] = []
  private var head = 0
  /// Bytes that have left `bytes` for good; a passenger's position counts them too.
  private var gone = 0
  private var passengers = Fifo<Passenger>()

  package init() {}

  /// How many bytes wait to be sent.
  package var unsent: Int { bytes.count - head }

  /// How many descriptors wait to be sent.
  package var descriptors: Int { passengers.count }

  /// Lets `descriptor` ride on the byte that is appended next; a byte carries one at most.
  package mutating func attach(_ descriptor: consuming FileDescriptor) {
    let position = gone + bytes.count
    let last = passengers.last?.position ?? -1
    precondition(last < position, "the next byte carries a descriptor already")
    passengers.append(Passenger(descriptor, at: position))
  }

  /// What came of an attempt to send.
  package enum Progress {
    case emptied
    /// The peer takes no more for now.
    case blocked
    /// The peer is gone.
    case broken
  }

  /// Sends as much as the peer takes, without waiting.
  package mutating func send(to socket: borrowing StreamSocket) -> Progress {
    while head < bytes.count {
      let passenger = passengers[0].flatMap { $0.position == gone + head ? $0 : nil }
      let sent = socket.send(
        bytes, in: head..<end(of: passenger), with: passenger?.descriptor.number)
      guard sent >= 0 else { return stop(errno) }
      if passenger != nil { _ = passengers.popFirst() }
      head += sent
    }
    recycle()
    return .emptied
  }

  private func end(of passenger: Passenger?) -> Int {
    let next = passengers[passenger == nil ? 0 : 1]
    return next.map { $0.position - gone } ?? bytes.count
  }

  private mutating func stop(_ reason: CInt) -> Progress {
    compact()
    return reason == EAGAIN ? .blocked : .broken
  }

  /// A slow reader may leave a rest for ever; what it has taken must not pile up in front of it.
  private mutating func compact() {
    guard head > Self.keptCapacity, head >= unsent else { return }
    bytes.removeFirst(head)
    gone += head
    head = 0
  }

  private mutating func recycle() {
    gone += bytes.count
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    head = 0
  }
}
