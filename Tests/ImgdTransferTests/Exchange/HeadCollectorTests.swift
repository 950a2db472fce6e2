import Testing

@testable import ImgdTransfer

struct HeadCollectorTests {
  private func collect(_ text: String) -> HeadCollector {
    var collector = HeadCollector()
    // As bytes, because the two bytes of a line end are one Swift character.
    for line in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast() {
      let bytes = Array(line) + [0x0a]
      _ = collector.add(bytes.span)
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
    let fields = head.head.headers
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
    #expect(head.head.headers == [HeaderField("a", "b")])
  }

  @Test func `a response's head is not complete after only an interim response`() {
    #expect(!collect("HTTP/1.1 100 Continue\r\n\r\n").isComplete)
  }

  @Test(arguments: ["HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", ":", ": x", "a", "\u{0}"])
  func `a response's head survives nonsense`(line: String) {
    var head = HeadCollector()
    let bytes = Array((line + "\r\n").utf8)
    let isEnd = head.add(bytes.span)
    #expect(!isEnd)
    #expect(head.head.headers.isEmpty)
  }

  @Test(arguments: ["-99", "+20", "000", "099"])
  func `a status has three digits, the first of them not zero`(status: String) {
    #expect(collect("HTTP/1.1 \(status) OK\r\nA: b\r\n\r\n").status == 0)
  }

  @Test func `a response's head survives being cut at every byte`() {
    let text = Array("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX: y\r\n\r\n".utf8)
    for end in 0...text.count {
      var head = HeadCollector()
      for line in text.prefix(end).split(separator: 0x0a, omittingEmptySubsequences: false) {
        let bytes = Array(line + [0x0a])
        _ = head.add(bytes.span)
      }
      #expect(head.isComplete == false || head.status == 200)
    }
  }

  @Test func `a response's head is bounded in lines and in bytes`() {
    let many = (0..<199).map { "F\($0): v\r\n" }.joined()
    let most = collect("HTTP/1.1 200 OK\r\n\(many)\r\n")
    #expect(most.problem == nil && most.isComplete)
    #expect(most.head.headers.count == 199)
    let more = collect("HTTP/1.1 200 OK\r\n\(many)A: b\r\n\r\n")
    #expect(more.problem == .tooLong && !more.isComplete)
    let long = (0..<7).map { "F\($0): \(String(repeating: "v", count: 10_000))\r\n" }.joined()
    #expect(collect("HTTP/1.1 200 OK\r\n\(long)\r\n").problem == .tooLong)
  }

  @Test func `a response's interim heads and trailers count with its head`() {
    let hint = "HTTP/1.1 103 Early Hints\r\n\r\n"
    #expect(collect(String(repeating: hint, count: 200)).problem == nil)
    #expect(collect(String(repeating: hint, count: 201)).problem == .tooLong)
    let head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    let trailers = String(repeating: "T: x\r\n", count: 198)
    #expect(collect(head + trailers).problem == nil)
    #expect(collect(head + trailers + "T: x\r\n").problem == .tooLong)
    #expect(collect(hint + head + trailers).problem == .tooLong)
  }

  @Test(arguments: [
    ("Content-Length: 5\r\nContent-Length: 5", true), ("Content-Length: 5, 5", true),
    ("Content-Length: 05\r\nContent-Length: 5", true), ("Content-Length: none", true),
    ("Content-Length: 5\r\nContent-Length: 6", false), ("Content-Length: 5, 6", false),
    ("Content-Length: 5\r\nA: b\r\ncontent-length:", true),
    ("Content-Length: 5\r\nContent-Length: x", false),
  ])
  func `a response's lengths must agree`(fields: String, isSound: Bool) {
    let head = collect("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
    #expect(head.problem == (isSound ? nil : .contradictoryLengths))
  }

  @Test func `a response's fields are read as UTF-8, or else as Latin-1`() {
    var head = HeadCollector()
    for line in [
      Array("HTTP/1.1 302 Found".utf8), Array("A: caf\u{e9}".utf8), Array("B: caf".utf8) + [0xe9],
      Array("Location: /caf".utf8) + [0xe9] + Array("/\u{e9}".utf8), Array("Location: /b".utf8), [],
    ] {
      let bytes = line + [0x0d, 0x0a]
      _ = head.add(bytes.span)
    }
    #expect(head.first("a") == "caf\u{e9}")
    #expect(head.first("b") == "caf\u{e9}")
    #expect(head.location == "/caf%E9/%C3%A9")
  }
}
