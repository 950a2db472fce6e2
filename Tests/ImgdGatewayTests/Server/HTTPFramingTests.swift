import ImgdGateway
import ImgdTestSupport
import Testing

/// Requests that others on the way may take for something else than this server does.
struct HTTPFramingTests {
  /// The length of a body.
  private static let lengths: [(String, Int)] = [
    ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\nContent-Length: 0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x y\r\nContent-Length: 0, 0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n 1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400),
  ]
  private static let malformed: [(String, Int)] = [
    // The host.
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    // The fields.
    ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Leng: 3\r\n th\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length\t: 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\0x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: \0Content-Length: 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: b\0\0Transfer-Encoding\0 chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA\0: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: b\rContent-Length: 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\n\n", 400),
    // A line that the library takes for the empty one at the end.
    ("GET / HTTP/1.1\r\nHost: h\r\nA: b\n:c\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: b\n:\t\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\n::\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: \u{1}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nÄ: b\r\n\r\n", 400),
    // The first line.
    ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /\0x HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("G\0T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: h\r\n\r\n", 400),
    ("GET /\u{7f} HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GE(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505),
    ("GET / XTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /\r\nHost: h\r\n\r\n", 400),
    ("GET / x HTTP/1.1\r\nHost: h\r\n\r\n", 400),
  ]

  @Test func malformedHeadsAreRefusedAndEndTheConnection() throws {
    for (request, status) in Self.lengths + Self.malformed {
      let stage = try ServerStage.echo()
      let client = try stage.connect()
      client.send(request + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
      let text = try client.all()
      #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(request.debugDescription): \(text)")
      #expect(!text.contains("smuggled"))
      #expect(stage.exchanges.isEmpty, "\(request.debugDescription)")
    }
  }

  /// What comes behind a first head would be taken for its body.
  @Test func aRefusalIsOneAnswer() throws {
    for (request, status) in Self.lengths + Self.malformed {
      let (answer, rest) = try answer(to: request)
      #expect(answer.status == status, "\(request.debugDescription)")
      #expect(rest.isEmpty, "\(request.debugDescription): \(rest)")
      #expect(answer.field("Connection") == "close", "\(request.debugDescription)")
    }
    for (request, _) in Self.lengths {
      let body = try answer(to: request).0.body
      #expect(
        body.hasPrefix(#"{"error":{"code":"bad_request""#), "\(request.debugDescription): \(body)")
    }
  }

  /// The first answer, and what comes behind it.
  private func answer(to request: String) throws -> (RawAnswer, rest: String) {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send(request)
    _ = try client.all()
    var bytes = client.received
    let answer = try #require(RawAnswer(takenFrom: &bytes), "\(request.debugDescription)")
    return (answer, String(decoding: bytes, as: UTF8.self))
  }

  @Test func aLineThatIsNoRequestHasNoAnswer() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET\r\nHost: h\r\n\r\n")
    #expect(try client.all().isEmpty)
  }

  @Test func aTargetThatIsNotUTF8IsRefused() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send(Array("GET /".utf8) + [0xff] + Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
    #expect(try client.all().hasPrefix("HTTP/1.1 400 "))
    let other = try stage.connect()
    other.send("GET /ä HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try other.answer().body == "/ä")
  }

  @Test func aRequestMayComeInAnyPieces() throws {
    let request = "GET /x?y HTTP/1.1\r\nHost: h\r\nAccept: a\r\nEmpty:\r\n\r\n"
    for length in [1, 2, 3, 7] {
      let stage = try ServerStage.echo()
      let client = try stage.connect()
      var rest = Substring(request)
      while !rest.isEmpty {
        client.send(String(rest.prefix(length)))
        rest = rest.dropFirst(length)
      }
      #expect(try client.answer().body == "/x?y")
    }
  }

  @Test func headsThatAreCutOffDoNoHarm() throws {
    let request = "GET /x?y HTTP/1.1\r\nHost: h\r\nAccept: a\r\n\r\n"
    let stage = try ServerStage.echo()
    for count in 0..<request.utf8.count {
      let client = try stage.connect()
      client.send(Array(request.utf8.prefix(count)))
      client.close()
    }
    try stage.wait { stage.server.counters.connections == 0 }
    #expect(stage.exchanges.isEmpty)
    #expect(stage.server.counters.accepted == request.utf8.count)
  }

  @Test func aRefusalSaysWhy() throws {
    let stage = try ServerStage.echo()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
    let answer = try client.answer()
    #expect(
      answer.body
        == #"{"error":{"code":"bad_request","message":"a request must not have a body","retryable":false}}"#
        + "\n")
    #expect(answer.field("Content-Type") == "application/json")
    #expect(answer.field("Connection") == "close")
    #expect(stage.server.counters.malformed == 1)
  }
}
