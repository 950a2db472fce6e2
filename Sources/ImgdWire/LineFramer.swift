import Glibc

/// Cuts a stream of bytes into lines, each byte looked at once.
///
/// Blank lines and lines that begin with `#` are passed over. A line longer than the limit is told
/// of once, and skipped up to its newline. Between reads it holds only the beginning of a line.
package struct LineFramer {
  package enum Line: Equatable {
    /// Where in the buffer the line lies, without its end.
    case text(Range<Int>)
    case tooLong
  }

  /// A buffer that grew beyond this is given back when it runs empty: idle clients cost nothing.
  private static let keptCapacity = 4 * 1024

  private let longestLine: Int
  private var buffer: [UInt8] = []
  private var head = 0
  /// Up to here no newline was found.
  private var searched = 0
  private var isSkipping = false
  private var hasEnded = false

  package init(longestLine: Int) {
    self.longestLine = longestLine
  }

  /// Takes in what a read has brought. Every line of what came before must have been taken out,
  /// or the buffer grows by as much.
  package mutating func append(_ bytes: Span<UInt8>) {
    dropConsumed()
    unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
  }

  /// The stream has ended: what is left counts as a line.
  package mutating func finish() {
    hasEnded = true
  }

  /// Whether bytes are held that have not been handed out.
  package var isEmpty: Bool { head == buffer.count }

  /// The next line, or nil until more bytes come.
  package mutating func next() -> Line? {
    while let end = findEnd() {
      let range = head..<end
      head = min(end + 1, buffer.count)
      searched = head
      if isSkipping {
        isSkipping = false
      } else if range.count > longestLine {
        return .tooLong
      } else if let line = content(of: range) {
        return .text(line)
      }
    }
    guard !isSkipping, buffer.count - head > longestLine else { return discardSkipped() }
    isSkipping = true
    discard()
    return .tooLong
  }

  /// Lends the bytes of a line that `next` has just handed out.
  package func withBytes<R>(_ line: Range<Int>, _ body: (Span<UInt8>) -> R) -> R {
    body(buffer.span.extracting(line))
  }

  /// Where the line that begins at `head` ends, if that is known.
  private mutating func findEnd() -> Int? {
    let found = unsafe buffer.withUnsafeBytes { bytes -> Int? in
      guard searched < bytes.count, let base = bytes.baseAddress,
        let place = unsafe memchr(base + searched, 0x0A, bytes.count - searched)
      else { return nil }
      return unsafe UnsafeRawPointer(place) - base
    }
    if let found { return found }
    searched = buffer.count
    guard hasEnded, head < buffer.count else { return nil }
    return buffer.count
  }

  /// The part of a line that is to be executed; nil for a blank line or a comment.
  private func content(of line: Range<Int>) -> Range<Int>? {
    var end = line.upperBound
    if end > line.lowerBound, buffer[end - 1] == 0x0D { end -= 1 }
    guard let first = buffer[line.lowerBound..<end].first(where: { $0 != 0x20 && $0 != 0x09 }),
      first != UInt8(ascii: "#")
    else { return nil }
    return line.lowerBound..<end
  }

  private mutating func discardSkipped() -> Line? {
    if isSkipping || (isEmpty && buffer.capacity > Self.keptCapacity) { discard() }
    return nil
  }

  private mutating func discard() {
    buffer.removeAll()
    head = 0
    searched = 0
  }

  private mutating func dropConsumed() {
    guard head > 0 else { return }
    if head == buffer.count {
      buffer.removeAll(keepingCapacity: true)
    } else {
      buffer.removeFirst(head)
    }
    searched -= head
    head = 0
  }
}
