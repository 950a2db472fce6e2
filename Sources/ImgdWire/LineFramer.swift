import Glibc

// The framer stands between a socket that hands out bytes as they come and a parser that wants
// whole lines. All sessions of a loop read into one scratch buffer, so what a session must carry
// from one read to the next lives here: the beginning of a line whose end has not come, or whole
// lines that had to wait because the session had done its share or could not send.
//
// A line that lies whole in the chunk is handed out where it lies. Bytes are copied only when
// they must outlive the chunk, each is searched for a newline once, and an idle session holds no
// buffer at all. A line above the limit is reported once, at the byte that makes it too long, and
// the rest of it is dropped until its newline: memory never grows beyond the limit and a chunk.
//
// Lines come out through a closure and not as return values, because a borrowed span may not
// leave a method. The closure must not touch the framer.

/// Cuts a stream of bytes into lines, whatever the pieces it comes in.
package struct LineFramer: Sendable {
  /// What the framer found; the bytes are good only while they are being looked at.
  package enum Finding: ~Escapable {
    /// A line without its end, neither blank nor a comment.
    case line(Span<UInt8>)
    /// A line above the limit began; the rest of it is skipped.
    case tooLong
  }

  /// Whether the one who takes the lines wants another.
  package enum Flow: Sendable {
    case next
    /// What follows is kept until `resume`.
    case pause
  }

  /// A line that is longer is skipped; a change holds for the line that is coming in, too.
  package var longestLine: Int
  /// Bytes that outlive their chunk; those before `head` are done with.
  private var kept: [UInt8] = []
  private var head = 0
  /// The bytes up to the next newline belong to a line that was too long.
  private var isSkipping = false
  /// Bytes are waiting since a pause: `resume` before reading more.
  package private(set) var isPaused = false

  package init(longestLine: Int = WireLimits.standard.line) {
    self.longestLine = longestLine
  }

  /// Takes the lines that end in `chunk`; a line without end is kept for the next chunk.
  package mutating func feed(_ chunk: Span<UInt8>, _ take: (borrowing Finding) -> Flow) {
    if isPaused { resume(take) }
    guard !isPaused else { return kept.appendBytes(chunk) }
    guard !kept.isEmpty else { return cutChunk(chunk, take) }
    guard let end = Self.newline(in: chunk, from: 0) else { return lengthen(by: chunk, take) }
    kept.appendBytes(chunk.extracting(0..<end))
    let flow = endKeptLine(take)
    let rest = chunk.extracting(end + 1..<chunk.count)
    if flow == .pause { pause(before: rest) } else { cutChunk(rest, take) }
  }

  /// Goes on with the lines that were left waiting by a pause.
  package mutating func resume(_ take: (borrowing Finding) -> Flow) {
    guard isPaused else { return }
    isPaused = false
    let waiting = kept
    kept = []
    let (end, flow) = cut(waiting.span, from: head, take)
    if flow == .pause, end < waiting.count {
      // The bytes stay where they are: many pauses over one chunk must not copy it each time.
      (kept, head, isPaused) = (waiting, end, true)
    } else {
      head = 0
      lengthen(by: waiting.span.extracting(end..<waiting.count), take)
    }
  }

  /// Takes the last line, which has no newline, at the end of the stream; false where a pause
  /// left something behind, then it is called again.
  package mutating func finish(_ take: (borrowing Finding) -> Flow) -> Bool {
    resume(take)
    guard !isPaused else { return false }
    _ = endKeptLine(take)
    return true
  }
}

extension LineFramer {
  /// Takes the lines of a chunk while nothing is kept.
  private mutating func cutChunk(
    _ chunk: Span<UInt8>, _ take: (borrowing Finding) -> Flow
  ) {
    let (end, flow) = cut(chunk, from: 0, take)
    let rest = chunk.extracting(end..<chunk.count)
    if flow == .pause { pause(before: rest) } else { lengthen(by: rest, take) }
  }

  /// Hands out lines until a pause or until none is left; tells where the rest begins.
  private mutating func cut(
    _ bytes: Span<UInt8>, from start: Int, _ take: (borrowing Finding) -> Flow
  ) -> (end: Int, flow: Flow) {
    var start = start
    while let end = Self.newline(in: bytes, from: start) {
      let flow = hand(bytes.extracting(start..<end), take)
      start = end + 1
      if flow == .pause { return (start, .pause) }
    }
    return (start, .next)
  }

  private mutating func pause(before rest: Span<UInt8>) {
    kept.appendBytes(rest)
    isPaused = !kept.isEmpty
  }

  /// Adds bytes without a newline to the line that is being kept.
  private mutating func lengthen(by piece: Span<UInt8>, _ take: (borrowing Finding) -> Flow) {
    guard !isSkipping, !piece.isEmpty else { return }
    guard kept.count + piece.count > longestLine else { return kept.appendBytes(piece) }
    let first = kept.first ?? piece[0]
    // The buffer is given back: most sessions are idle most of the time.
    kept = []
    isSkipping = true
    // A pause has nothing to hold back here: the next line begins in a later chunk.
    if first != UInt8(ascii: "#") { _ = take(.tooLong) }
  }

  /// Hands out the kept bytes as a line; its buffer is given back with them.
  private mutating func endKeptLine(_ take: (borrowing Finding) -> Flow) -> Flow {
    let line = kept
    kept = []
    return hand(line.span, take)
  }

  /// Hands out one whole line, if it is one to be handed out.
  private mutating func hand(
    _ line: Span<UInt8>, _ take: (borrowing Finding) -> Flow
  ) -> Flow {
    if isSkipping {
      isSkipping = false
      return .next
    }
    guard let first = Self.firstByte(of: line), first != UInt8(ascii: "#") else { return .next }
    guard line.count <= longestLine else { return take(.tooLong) }
    let endsInReturn = line[line.count - 1] == UInt8(ascii: "\r")
    return take(.line(line.extracting(0..<line.count - (endsInReturn ? 1 : 0))))
  }

  /// The first byte that is not white space; nil in a blank line.
  private static func firstByte(of line: Span<UInt8>) -> UInt8? {
    for index in line.indices {
      let byte = line[index]
      if byte != 0x20, byte != 0x09, byte != 0x0D { return byte }
    }
    return nil
  }

  @inline(__always)
  private static func newline(in chunk: Span<UInt8>, from start: Int) -> Int? {
    guard start < chunk.count else { return nil }
    // memchr stays within the buffer, which lives while the span is borrowed.
    return unsafe chunk.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress,
        let found = unsafe memchr(base + start, 0x0A, buffer.count - start)
      else { return nil }
      return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }
}
