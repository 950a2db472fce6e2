import Testing

@testable import ImgdClient

@Suite struct LineBufferTests {
  private func lines(_ pieces: [[UInt8]]) -> [String] {
    var buffer = LineBuffer()
    var lines: [String] = []
    for piece in pieces {
      buffer.append(piece)
      while let line = buffer.nextLine() { lines.append(String(decoding: line, as: UTF8.self)) }
    }
    return lines
  }

  @Test func linesComeOutHoweverTheyCameIn() {
    let text = Array("one\n\ntwo two\nthree".utf8)
    for cut in 0...text.count {
      for second in cut...text.count {
        let pieces = [text[..<cut], text[cut..<second], text[second...]].map(Array.init)
        #expect(lines(pieces) == ["one", "", "two two"])
      }
    }
  }

  @Test func whatWaitsIsCounted() {
    var buffer = LineBuffer()
    buffer.append(Array("a\nbcd".utf8))
    #expect(buffer.nextLine() == Array("a".utf8))
    #expect(buffer.nextLine() == nil)
    #expect(buffer.count == 3)
    buffer.append(Array("\n".utf8))
    #expect(buffer.nextLine() == Array("bcd".utf8))
    #expect(buffer.count == 0)
  }
}
