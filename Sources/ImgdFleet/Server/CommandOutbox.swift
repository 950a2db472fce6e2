internal import ImgdSystem

/// Commands on their way to the server. Small ones are collected, pictures are written from their own memory.
struct CommandOutbox {
  private enum Piece {
    case bytes([UInt8])
    case payload(Payload)

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .payload(let payload): payload.count
      }
    }
  }

  private var pieces = Fifo<Piece>()
  /// How much of the first piece has been written.
  private var written = 0
  /// What follows the pieces.
  private var tail: [UInt8] = []
  /// The bytes that wait to be written.
  private(set) var unsent = 0

  mutating func add(_ front: [UInt8], _ payload: Payload?) {
    tail += front
    unsent += front.count
    guard let payload else { return }
    closeTail()
    pieces.append(.payload(payload))
    tail = RedisCommand.lineEnd
    unsent += payload.count + tail.count
  }

  private mutating func closeTail() {
    guard !tail.isEmpty else { return }
    pieces.append(.bytes(tail))
    tail = []
  }

  /// Writes as much as the stream takes, or about `most` bytes; a passage of bytes says that there was no hindrance.
  mutating func write(to stream: ServerStream, most: Int) -> Passage {
    closeTail()
    var left = most
    while left > 0, let piece = pieces.first {
      let outcome = write(piece, to: stream)
      guard case .bytes(let count) = outcome else { return outcome }
      left -= count
      unsent -= count
      written += count
      if written == piece.count {
        _ = pieces.popFirst()
        written = 0
      }
    }
    return .bytes(most - left)
  }

  private func write(_ piece: Piece, to stream: ServerStream) -> Passage {
    switch piece {
    case .bytes(let bytes):
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]), isLast: pieces.count == 1)
      }
    case .payload(let payload): stream.write(payload, from: written)
    }
  }
}
