import Testing

@testable import ImgdWire

struct LineFramerTests {
  /// Collects a framer's findings and pauses after every `share` of them.
  private struct Reader {
    var framer: LineFramer
    var share = Int.max
    var found: [String] = []

    init(limit: Int = 16, share: Int = .max) {
      framer = LineFramer(longestLine: limit)
      self.share = share
    }

    private mutating func collect(
      _ read: (inout LineFramer, (borrowing LineFramer.Finding) -> LineFramer.Flow) -> Void
    ) {
      var (found, left) = (self.found, share)
      read(&framer) { finding in
        switch finding {
        case .line(let line):
          found.append(line.indices.map { String(UnicodeScalar(line[$0])) }.joined())
        case .tooLong: found.append("!")
        }
        left -= 1
        return left > 0 ? .next : .pause
      }
      self.found = found
    }

    mutating func feed(_ bytes: [UInt8]) {
      collect { framer, take in framer.feed(bytes.span, take) }
      while framer.isPaused { collect { framer, take in framer.resume(take) } }
    }

    mutating func feedWithoutResuming(_ bytes: [UInt8]) {
      collect { framer, take in framer.feed(bytes.span, take) }
    }

    mutating func finish() -> [String] {
      var isDone = false
      while !isDone { collect { framer, take in isDone = framer.finish(take) } }
      return found
    }
  }

  static let streams: [(String, [String])] = [
    ("", []), ("\n", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nbc\nd", ["a", "bc", "d"]),
    ("a\nb\nc\nd\ne\nf\ng\nh\ni", ["a", "b", "c", "d", "e", "f", "g", "h", "i"]),
    ("a\r\nb\r\n", ["a", "b"]), ("a\r\rb\r\r\n", ["a\r\rb\r"]), ("\r\n \t\n\n  a \n", ["  a "]),
    ("# no\n#\na#b\n #c\n\t# d\n#", ["a#b"]), ("   ", []), ("last\r", ["last"]),
    ("0123456789abcdef\nx", ["0123456789abcdef", "x"]),
    ("0123456789abcdefg\nx\n", ["!", "x"]), ("0123456789abcdef\r\nx", ["!", "x"]),
    ("0123456789abcdefghijklmnopqrstuvwxyz0123456789\n\ny\n", ["!", "y"]),
    ("#23456789abcdefghijklmnopqrstuvwxyz\nz\n", ["z"]), ("0123456789abcdefg", ["!"]),
    ("0123456789abcdefg\n0123456789abcdefg\n0123456789abcdefg", ["!", "!", "!"]),
    // Blanks in front of a comment, and more blanks than a line may have.
    ("  #456789abcdefghijk\nx", ["x"]), (" \t\r #56789abcdefghijk", []),
    ("                 \nx\n", ["!", "x"]), ("                #\nx\n", ["!", "x"]),
  ]

  @Test(arguments: streams)
  func `the line framer finds the same lines for every division of the stream into three`(
    stream: String, lines: [String]
  ) {
    let bytes = Array(stream.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        for share in [1, 2, .max] {
          var reader = Reader(share: share)
          reader.feed(Array(bytes[..<first]))
          reader.feed(Array(bytes[first..<second]))
          reader.feed(Array(bytes[second...]))
          #expect(reader.finish() == lines)
        }
      }
    }
  }

  @Test(arguments: streams)
  func `the line framer finds the same lines byte by byte`(stream: String, lines: [String]) {
    var reader = Reader()
    for byte in stream.utf8 { reader.feed([byte]) }
    #expect(reader.finish() == lines)
  }

  @Test func `the line framer keeps all bytes after a pause, even when more are fed`() {
    var reader = Reader(share: 1)
    reader.feedWithoutResuming(Array("a\nb\nc\nd".utf8))
    #expect(reader.found == ["a"] && reader.framer.isPaused)
    reader.feedWithoutResuming(Array("e\nf\n".utf8))
    #expect(reader.found == ["a", "b"] && reader.framer.isPaused)
    #expect(reader.finish() == ["a", "b", "c", "de", "f"])
    #expect(!reader.framer.isPaused)
  }

  @Test func `the line framer is not paused when no bytes are left`() {
    var reader = Reader(share: 1)
    reader.feedWithoutResuming(Array("a\n".utf8))
    #expect(!reader.framer.isPaused)
    reader.feedWithoutResuming(Array("b\n".utf8))
    #expect(reader.finish() == ["a", "b"])
  }

  @Test func `the line framer drops a line of ten megabytes and goes on after it`() {
    var reader = Reader(limit: 65_536)
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
    for _ in 0..<160 { reader.feed(piece) }
    reader.feed(Array("\nafter\n".utf8))
    #expect(reader.finish() == ["!", "after"])
  }
}
