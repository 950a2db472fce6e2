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

  /// Sends an order, whose picture is in a memfd already; false when the decoder is gone.
  package func send(_ order: DecodeOrder) -> Bool {
    guard let picture = order.picture.descriptor else { preconditionFailure("the picture of an order is in a memfd") }
    return send(order.message, with: picture)
  }

  /// Sends what became of the order with this serial; false when the daemon is gone.
  package func send(_ answer: DecodeAnswer, serial: UInt64) -> Bool {
    guard case .picture(let made) = answer else { return send(answer.message(serial: serial)) }
    guard let content = made.content.descriptor else { preconditionFailure("the content of an answer is in a memfd") }
    let message = answer.message(serial: serial)
    // The kernel counts the descriptors under way of all the user's processes together, and compares them with how many
    // this one may have open, which are few. Those to clients are soon taken.
    for _ in 0..<Self.patience {
      if send(message, with: content) { return true }
      guard errno == ETOOMANYREFS else { return false }
      usleep(1_000)
    }
    return false
  }

  /// How many milliseconds others are given to take what was sent to them.
  private static let patience = 2_000

  /// Sends what a decoder can do; false when the daemon is gone.
  package func send(_ abilities: DecoderAbilities) -> Bool { send(abilities.message) }

  /// There is always room: at most one message is under way.
  private func send(_ message: [UInt8], with attached: CInt = -1) -> Bool {
    unsafe message.withUnsafeBytes {
      unsafe linux_send(descriptor.number, $0.baseAddress, $0.count, attached) == message.count
    }
  }

  /// The next message of the decoder, without waiting.
  package func receive() -> Arrival {
    var raw = RawMessage(from: descriptor, waits: false)
    if let other = raw.other { return other }
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
    guard raw.other == nil, let reader = MessageReader(raw.bytes), reader.kind == .order,
      let picture = raw.takeMemory()
    else { return nil }
    return DecodeOrder(reader, picture: picture)
  }
}

/// A message as it arrived, with its descriptors; those that nobody takes are closed.
struct RawMessage: ~Copyable {
  /// What has come in place of a message; nil where one has.
  let other: DecodeChannel.Arrival?
  let bytes: [UInt8]
  private var numbers: [CInt]

  init(from socket: borrowing FileDescriptor, waits: Bool) {
    let number = socket.number
    var attached = [CInt](repeating: -1, count: Int(LINUX_MOST_DESCRIPTORS))
    var attachedCount: CInt = 0
    var got = 0
    var failure: CInt = 0
    bytes = unsafe [UInt8](unsafeUninitializedCapacity: MessageLayout.longest) { room, filled in
      got = unsafe linux_receive_message(number, room.baseAddress, room.count, &attached, &attachedCount, waits ? 1 : 0)
      failure = errno
      filled = max(got, 0)
    }
    if got > 0 {
      other = nil
    } else if got == 0 || failure == ECONNRESET {
      // A peer that closes with messages unread resets the connection.
      other = .end
    } else {
      other = failure == EAGAIN || failure == EINTR ? .nothing : .broken
    }
    numbers = Array(attached.prefix(Int(attachedCount)))
  }

  deinit { for number in numbers { close(number) } }

  /// Whether no descriptor is left.
  var isAlone: Bool { numbers.isEmpty }

  /// The content of the memfd that came with it; nil unless it is the only descriptor, and sealed.
  mutating func takeMemory() -> Payload? {
    guard numbers.count == 1 else { return nil }
    return Payload.adopt(FileDescriptor(owning: numbers.removeLast()))
  }
}

/// The kinds of messages between the daemon and a decoder.
enum MessageKind: UInt16 {
  case abilities = 1
  case order, answer
}

/// What both sides of the channel agree on.
enum MessageLayout {
  /// The letters imgd.
  static let mark: UInt32 = 0x6467_6d69
  /// Incremented with every change, since a decoder may have been installed after its daemon was started.
  static let version: UInt16 = 3
  /// The most bytes of a message; longer ones are refused.
  static let longest = 1_024 + 4 * MadePicture.mostDelays
  static let longestText = 200
  static let longestThumbHash = 64
  /// Stands for a value that is left out.
  static let none: UInt8 = 255
}

/// Writes a message: numbers from the low byte up, without gaps.
struct MessageWriter {
  private(set) var bytes: [UInt8] = []

  init(_ kind: MessageKind) {
    append(MessageLayout.mark)
    append(MessageLayout.version)
    append(kind.rawValue)
  }

  mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
    var rest = number
    for _ in 0..<number.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest = rest >> 8
    }
  }

  mutating func append(_ flag: Bool) { append(UInt8(flag ? 1 : 0)) }

  /// Appends a number that is not negative.
  mutating func append32(_ number: Int) { append(UInt32(clamping: number)) }

  mutating func append(_ list: [UInt8]) {
    append(UInt8(clamping: list.count))
    bytes.append(contentsOf: list.prefix(Int(UInt8.max)))
  }

  /// A text, cut after as many whole characters as there is room for.
  mutating func append(_ text: String) {
    var room: [UInt8] = []
    for scalar in text.unicodeScalars {
      let letter = Array(String(scalar).utf8)
      guard room.count + letter.count <= MessageLayout.longestText else { break }
      room += letter
    }
    append(room)
  }
}

/// Reads a message that may be anything; every read returns nil where the bytes do not allow it.
struct MessageReader {
  private(set) var kind = MessageKind.abilities
  private var rest: ArraySlice<UInt8>

  /// Nil for bytes that are no message of this version.
  init?(_ bytes: [UInt8]) {
    rest = bytes[...]
    guard number(UInt32.self) == MessageLayout.mark, number(UInt16.self) == MessageLayout.version,
      let kind = number(UInt16.self).flatMap(MessageKind.init)
    else { return nil }
    self.kind = kind
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number<N: FixedWidthInteger & UnsignedInteger>(_: N.Type) -> N? {
    let size = N.bitWidth / 8
    guard rest.count >= size else { return nil }
    let number = rest.prefix(size).reversed().reduce(N.zero) { $0 << 8 | N($1) }
    rest = rest.dropFirst(size)
    return number
  }

  mutating func byte() -> UInt8? { number(UInt8.self) }

  mutating func flag() -> Bool? {
    switch byte() {
    case 0: false
    case 1: true
    default: nil
    }
  }

  mutating func number32(_ range: ClosedRange<Int>) -> Int? {
    guard let number = number(UInt32.self), range.contains(Int(number)) else { return nil }
    return Int(number)
  }

  mutating func list(_ lengths: ClosedRange<Int>) -> [UInt8]? {
    guard let length = byte().map(Int.init), lengths.contains(length), rest.count >= length else { return nil }
    defer { rest = rest.dropFirst(length) }
    return Array(rest.prefix(length))
  }

  /// A text with its unprintable characters escaped.
  mutating func text() -> String? {
    list(0...MessageLayout.longestText).map { printable(String(decoding: $0, as: UTF8.self)) }
  }
}
