// The daemon and a decoder talk over a pair of sockets that keep messages apart: a message arrives whole or
// not at all, and its descriptor with it. The decoder begins with its abilities; from then on each order of
// the daemon is followed by one answer.
//
// The daemon believes nothing of what it receives. A message that is too long, or has more or fewer descriptors
// than it should, a memfd that can still change, a number out of range or a byte too many, is broken as a whole,
// and its descriptors are closed.

internal import CLinux
import Glibc
package import ImgdSystem

/// One end of the connection between the daemon and a decoder.
package struct DecodeChannel: ~Copyable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Makes a connection and gives away its ends, both of which are closed on `exec`.
  package static func pair<Result: ~Copyable>(
    _ take: (_ daemon: consuming DecodeChannel, _ decoder: consuming DecodeChannel) throws(SystemFailure) -> Result
  ) throws(SystemFailure) -> Result {
    var ends: [CInt] = [-1, -1]
    guard unsafe linux_message_pair(&ends) == 0 else { throw SystemFailure("socketpair") }
    return try take(DecodeChannel(FileDescriptor(owning: ends[0])), DecodeChannel(FileDescriptor(owning: ends[1])))
  }

  /// What the daemon has received.
  package enum Arrival: Sendable {
    case abilities(DecoderAbilities)
    case answer(DecodeAnswer, serial: UInt64)
    case nothing
    /// The decoder has closed its end.
    case end
    /// Bytes that are no message, or a message that cannot be true.
    case broken
  }

  // MARK: Sending

  /// Sends an order, whose picture is in a memfd already; false when the decoder is gone.
  package func send(_ order: DecodeOrder) -> Bool {
    guard let picture = order.picture.descriptor else { preconditionFailure("the picture of an order is in a memfd") }
    return send(order.message, with: picture)
  }

  /// Sends what became of the order with this serial; false when the daemon is gone.
  package func send(_ answer: DecodeAnswer, serial: UInt64) -> Bool {
    guard case .picture(let made) = answer else { return send(answer.message(serial: serial)) }
    guard let content = made.content.descriptor else { preconditionFailure("the content of an answer is in a memfd") }
    return send(answer.message(serial: serial), with: content)
  }

  /// Sends what a decoder can do; false when the daemon is gone.
  package func send(_ abilities: DecoderAbilities) -> Bool { send(abilities.message) }

  /// There is always room: at most one message is under way.
  private func send(_ message: [UInt8], with attached: CInt = -1) -> Bool {
    unsafe message.withUnsafeBytes {
      unsafe linux_send(descriptor.number, $0.baseAddress, $0.count, attached) == message.count
    }
  }

  // MARK: Receiving

  /// The next message of the decoder, without waiting.
  package func receive() -> Arrival {
    var raw = RawMessage(from: descriptor, waits: false)
    switch raw.state {
    case .nothing: return .nothing
    case .end: return .end
    case .broken: return .broken
    case .whole: break
    }
    guard var reader = MessageReader(raw.bytes) else { return .broken }
    switch reader.kind {
    case .abilities where raw.isAlone: return DecoderAbilities(reader).map { .abilities($0) } ?? .broken
    case .answer:
      let content = raw.isAlone ? nil : raw.takeMemory()
      guard raw.isAlone, let serial = reader.number(UInt64.self), let answer = DecodeAnswer(reader, content: content)
      else { return .broken }
      return .answer(answer, serial: serial)
    default: return .broken
    }
  }

  /// Waits for the next order of the daemon; nil when there will be none.
  package func receiveOrder() -> DecodeOrder? {
    var raw = RawMessage(from: descriptor, waits: true)
    guard raw.state == .whole, let reader = MessageReader(raw.bytes), reader.kind == .order,
      let picture = raw.takeMemory()
    else { return nil }
    return DecodeOrder(reader, picture: picture)
  }
}
