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

  /// A buffer that grew beyond this is given back when it runs empty.
  private static let keptCapacity = 64 * 1024

  /// Everything not yet sent, after `head` bytes that are.
  package var bytes: [UInt8] = []
  private var head = 0
  private var passengers: [Passenger] = []

  package init() {}

  /// How many bytes wait to be sent.
  package var unsent: Int { bytes.count - head }

  /// How many descriptors wait to be sent.
  package var descriptors: Int { passengers.count }

  /// Lets `descriptor` ride on the byte that is appended next.
  package mutating func attach(_ descriptor: consuming FileDescriptor) {
    passengers.append(Passenger(descriptor, at: bytes.count))
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
      let passenger = passengers.first.flatMap { $0.position == head ? $0 : nil }
      let sent = socket.send(
        bytes, in: head..<end(of: passenger), with: passenger?.descriptor.number)
      guard sent >= 0 else { return errno == EAGAIN ? .blocked : .broken }
      if passenger != nil { passengers.removeFirst() }
      head += sent
    }
    recycle()
    return .emptied
  }

  private func end(of passenger: Passenger?) -> Int {
    let next = passenger == nil ? passengers.first : passengers.dropFirst().first
    return next?.position ?? bytes.count
  }

  private mutating func recycle() {
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    head = 0
  }
}
