import Glibc

/// Bytes on their way to a peer, and the descriptors that are attached to some of them.
///
/// Writers append to `bytes`. A descriptor is attached to the byte that is appended next, and is sent
/// in a `sendmsg` that begins with that byte and ends before the next byte with a descriptor.
package struct Outbox: ~Copyable {
  private final class AttachedDescriptor {
    let descriptor: FileDescriptor
    let position: Int

    init(_ descriptor: consuming FileDescriptor, at position: Int) {
      self.descriptor = descriptor
      self.position = position
    }
  }

  /// A buffer that grew beyond this is freed when it runs empty; until then up to this many sent bytes
  /// may stay before the rest.
  private static let keptCapacity = 64 * 1024

  /// The bytes not yet sent, after `head` bytes that are.
  package var bytes: [UInt8] = []
  private var head = 0
  /// Bytes that were removed from `bytes`; the position of a descriptor counts them too.
  private var gone = 0
  private var attached = Fifo<AttachedDescriptor>()

  package init() {}

  /// How many bytes wait to be sent.
  package var unsent: Int { bytes.count - head }

  /// How many descriptors wait to be sent.
  package var descriptors: Int { attached.count }

  /// Whether more than `limit` bytes wait, or `most` descriptors or more.
  package func isBeyond(bytes limit: Int, descriptors most: Int) -> Bool { unsent > limit || descriptors >= most }

  /// Attaches `descriptor` to the byte that is appended next; a byte carries one at most.
  package mutating func attach(_ descriptor: consuming FileDescriptor) {
    let position = gone + bytes.count
    let last = attached.last?.position ?? -1
    precondition(last < position, "the next byte carries a descriptor already")
    attached.append(AttachedDescriptor(descriptor, at: position))
  }

  /// The result of an attempt to send.
  package enum Progress {
    case emptied
    /// The peer accepts no more for now.
    case blocked
    /// The peer is gone.
    case broken
  }

  /// Sends as much as the peer accepts, without waiting.
  package mutating func send(to socket: borrowing StreamSocket) -> Progress {
    while head < bytes.count {
      let next = nextAttached()
      let sent = socket.send(bytes, in: head..<end(of: next), with: next?.descriptor.number)
      guard sent >= 0 else { return stop(errno) }
      if next != nil { _ = attached.popFirst() }
      head += sent
    }
    recycle()
    return .emptied
  }

  /// The descriptor of the byte that is sent next.
  private func nextAttached() -> AttachedDescriptor? {
    guard let first = attached[0], first.position == gone + head else { return nil }
    return first
  }

  private func end(of current: AttachedDescriptor?) -> Int {
    guard let next = attached[current == nil ? 0 : 1] else { return bytes.count }
    return next.position - gone
  }

  private mutating func stop(_ reason: CInt) -> Progress {
    compact()
    return reason == EAGAIN ? .blocked : .broken
  }

  /// A slow reader may always leave bytes unsent; the sent bytes before them must not accumulate.
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
