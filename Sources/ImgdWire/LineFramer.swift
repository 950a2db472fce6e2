import Glibc

// The framer takes the bytes of a socket in chunks, and passes whole lines to a parser. All sessions
// of a loop read into one scratch buffer, so the framer keeps the bytes that a session carries from
// one read to the next: the beginning of a line whose end has not come, or whole lines that wait
// because the session has used up its share of the tick or cannot send.
//
// A line that lies whole in the chunk is passed on where it lies. Bytes are copied only when they
// must outlive the chunk, each is searched for a newline once, and an idle session holds no buffer
// at all. A line above the limit is reported once, at the byte that makes it too long, and the rest
// of it is dropped until its newline: memory never grows beyond the limit and one chunk.
//
// Lines come out through a closure and not as return values, because a borrowed span may not
// leave a method. The closure must not touch the framer.

/// Cuts a stream of bytes into lines, for any division into chunks.
package struct LineFramer: Sendable {
  /// A result of the framer; its bytes are valid only during the call.
  package enum Finding: ~Escapable {
    /// A line without its end, neither blank nor a comment.
    case line(Span<UInt8>)
    /// A line above the limit began; the rest of it is skipped.
    case tooLong
  }

  /// Whether the caller wants another line.
  package enum Flow: Sendable {
    case next
    /// The following bytes are kept until `resume`.
    case pause
  }

  /// Longer lines are skipped; a change also applies to the line that is coming in.
  package var longestLine: Int
  /// Bytes that outlive their chunk; those before `head` have been passed on.
  private var kept: [UInt8] = []
  private var head = 0
  /// The bytes up to the next newline belong to a line that was too long.
  private var isSkipping = false
  /// Whether bytes wait since a pause: `resume` before reading more.
  package private(set) var isPaused = false

  /// The bytes that outlive their chunk.
  package var keptBytes: Int { kept.count }

  package init(longestLine: Int = WireLimits.standard.line) { self.longestLine = longestLine }

  /// Passes on the lines that end in `chunk`; a line without end is kept for the next chunk.
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

  /// Goes on with the lines that wait since a pause.
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

  /// Passes on the last line, which has no newline, at the end of the stream; false when lines still
  /// wait after a pause, and the call is to be repeated.
  package mutating func finish(_ take: (borrowing Finding) -> Flow) -> Bool {
    resume(take)
    guard !isPaused else { return false }
    _ = endKeptLine(take)
    return true
  }
}

extension LineFramer {
  private mutating func cutChunk(_ chunk: Span<UInt8>, _ take: (borrowing Finding) -> Flow) {
    let (end, flow) = cut(chunk, from: 0, take)
    let rest = chunk.extracting(end..<chunk.count)
    if flow == .pause { pause(before: rest) } else { lengthen(by: rest, take) }
  }

  /// Passes on lines until a pause or the last newline; returns where the rest begins.
  private mutating func cut(_ bytes: Span<UInt8>, from start: Int, _ take: (borrowing Finding) -> Flow) -> (
    end: Int, flow: Flow
  ) {
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
    let room = max(0, longestLine - kept.count)
    let first = firstByte(of: kept.span) ?? firstByte(of: piece.extracting(0..<min(piece.count, room)))
    // The buffer is freed: most sessions are idle most of the time.
    kept = []
    isSkipping = true
    // A pause holds nothing back here: the next line begins in a later chunk.
    if first != UInt8(ascii: "#") { _ = take(.tooLong) }
  }

  private mutating func endKeptLine(_ take: (borrowing Finding) -> Flow) -> Flow {
    let line = kept
    kept = []
    return hand(line.span, take)
  }

  /// Passes on one whole line, unless it is skipped, blank or a comment.
  private mutating func hand(_ line: Span<UInt8>, _ take: (borrowing Finding) -> Flow) -> Flow {
    if isSkipping {
      isSkipping = false
      return .next
    }
    let first = firstByte(of: line)
    if first == UInt8(ascii: "#") { return .next }
    guard line.count <= longestLine else { return take(.tooLong) }
    guard first != nil else { return .next }
    let endsInReturn = line[line.count - 1] == UInt8(ascii: "\r")
    return take(.line(line.extracting(0..<line.count - (endsInReturn ? 1 : 0))))
  }

  /// The first byte that is not white space; nil in a blank line, and where it comes later than a line may be long.
  private func firstByte(of line: Span<UInt8>) -> UInt8? {
    for index in line.indices.prefix(longestLine) {
      let byte = line[index]
      if byte != 0x20, byte != 0x09, byte != 0x0D { return byte }
    }
    return nil
  }

  /// The place of the first newline after some bytes.
  @inline(__always) package static func newline(in chunk: Span<UInt8>, from start: Int) -> Int? {
    guard start < chunk.count else { return nil }
    // memchr stays within the buffer, which lives while the span is borrowed.
    return unsafe chunk.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress, let found = unsafe memchr(base + start, 0x0A, buffer.count - start) else {
        return nil
      }
      return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }
}
