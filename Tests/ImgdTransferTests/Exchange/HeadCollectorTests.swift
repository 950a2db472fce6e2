import Testing

@testable import ImgdTransfer

@Suite
struct HeadCollectorTests {
  private func collect(_ text: String) -> HeadCollector {
    var collector = HeadCollector()
    // As bytes, because the two bytes of a line end are one Swift character.
    for line in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast() {
      let bytes = Array(line) + [0x0a]
      _ = collector.take(bytes.span)
    }
    return collector
  }

  @Test func `a response's head joins repeated fields, lowers names and trims values`() {
    let head = collect(
      """
      HTTP/1.1 200 OK\r
      Content-Type:  image/png \r
      Vary: Accept\r
      ETag: "a"\r
      VARY: Cookie\r
      Empty:\r
      \r

      """)
    #expect(head.isComplete)
    #expect(head.status == 200)
    let fields = head.head(finalURL: nil).headers
    #expect(
      fields == [
        HeaderField("content-type", "image/png"), HeaderField("vary", "Accept, Cookie"),
        HeaderField("etag", "\"a\""), HeaderField("empty", ""),
      ])
    #expect(head.first("vary") == "Accept")
  }

  @Test func `a response's head starts over after an interim response, and ignores trailers`() {
    let head = collect(
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/2 404 \r\nA: b\r\n\r\nTrailer: c\r\n\r\n")
    #expect(head.status == 404)
    #expect(head.head(finalURL: nil).headers == [HeaderField("a", "b")])
  }

  @Test func `a response's head is not complete after only an interim response`() {
    #expect(!collect("HTTP/1.1 100 Continue\r\n\r\n").isComplete)
  }

  @Test(arguments: ["HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", ":", ": x", "a", "\u{0}"])
  func `a response's head survives nonsense`(line: String) {
    var head = HeadCollector()
    let bytes = Array((line + "\r\n").utf8)
    let isEnd = head.take(bytes.span)
    #expect(!isEnd)
    #expect(head.head(finalURL: nil).headers.isEmpty)
  }

  @Test func `a response's head survives being cut at every byte`() {
    let text = Array("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX: y\r\n\r\n".utf8)
    for end in 0...text.count {
      var head = HeadCollector()
      for line in text.prefix(end).split(separator: 0x0a, omittingEmptySubsequences: false) {
        let bytes = Array(line + [0x0a])
        _ = head.take(bytes.span)
      }
      #expect(head.isComplete == false || head.status == 200)
    }
  }

  @Test func `a response's head is bounded in fields and in bytes`() {
    let many = (0..<1_000).map { "F\($0): v\r\n" }.joined()
    #expect(collect("HTTP/1.1 200 OK\r\n\(many)\r\n").head(finalURL: nil).headers.count == 200)
    let long = (0..<20).map { "F\($0): \(String(repeating: "v", count: 10_000))\r\n" }.joined()
    #expect(collect("HTTP/1.1 200 OK\r\n\(long)\r\n").head(finalURL: nil).headers.count == 6)
  }
}
