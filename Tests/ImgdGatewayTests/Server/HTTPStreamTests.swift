import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

struct HTTPStreamTests {
  private func streaming(
    _ request: String = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
  ) throws -> (ServerStage, RawClient, HTTPStream, () -> Int) {
    let stage = try ServerStage()
    let client = try stage.connect()
    let stream = HTTPStream()
    var ends = 0
    stream.onEnd = { ends += 1 }
    stage.onRequest = {
      $0.answer(HTTPResponse(status: 200, fields: [], body: .stream(stream)))
    }
    client.send(request)
    try client.wait(for: "\r\n\r\n")
    return (stage, client, stream, { ends })
  }

  @Test func whatIsWrittenArrives() throws {
    let (stage, client, stream, ends) = try streaming()
    stream.write(Array("one".utf8))
    try client.wait(for: "3\r\none\r\n")
    stage.advance(.seconds(600))
    stream.write(Array("two".utf8))
    stream.write(Array("three".utf8))
    try client.wait(for: "8\r\ntwothree\r\n")
    #expect(stream.unsent == 0)
    #expect(ends() == 0)
    stream.close()
    try client.wait(for: "\r\n0\r\n\r\n")
    try stage.wait { ends() == 1 }
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    stage.onRequest = { $0.answer(.text("next")) }
  }

  @Test func theConnectionGoesOnAfterIt() throws {
    let (stage, client, stream, _) = try streaming()
    stream.close()
    try client.wait(for: "0\r\n\r\n")
    stage.onRequest = { $0.answer(.text("next")) }
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try client.wait(for: "next")
  }

  @Test func oldClientsReadUntilTheEnd() throws {
    let (stage, client, stream, ends) = try streaming("GET / HTTP/1.0\r\n\r\n")
    stream.write(Array("plain".utf8))
    stream.close()
    #expect(try client.all().hasSuffix("\r\n\r\nplain"))
    try stage.wait { ends() == 1 }
  }

  @Test func aHeadEndsItAtOnce() throws {
    let (stage, client, stream, ends) = try streaming("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
    try stage.wait { ends() == 1 }
    stream.write(Array("nobody reads".utf8))
    #expect(client.text.hasSuffix("\r\n\r\n"))
  }

  @Test func aReaderThatLeavesIsNoticed() throws {
    let (stage, client, stream, ends) = try streaming()
    stream.write(Array("one".utf8))
    try client.wait(for: "one")
    stage.advance(.milliseconds(21))
    client.close()
    try stage.wait { ends() == 1 }
    try stage.wait { stage.server.counters.connections == 0 }
    stream.write(Array("two".utf8))
    stream.close()
    #expect(stream.unsent == 0)
    #expect(ends() == 1)
  }

  @Test func aReaderThatDoesNotReadIsCutOff() throws {
    let (stage, client, stream, ends) = try streaming()
    let part = [UInt8](repeating: 65, count: 10_000)
    for _ in 0..<1_000 where ends() == 0 {
      stream.write(part)
      #expect(stream.unsent <= 256 * 1024)
      stage.loop.settle()
    }
    #expect(ends() == 1)
    _ = client
  }

  @Test func muchAtOnceArrivesWhole() throws {
    let (stage, client, stream, ends) = try streaming("GET / HTTP/1.0\r\n\r\n")
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) | 1 }
    stream.write(bytes)
    stream.close()
    _ = try client.all()
    #expect(Array(client.received.suffix(bytes.count)) == bytes)
    try stage.wait { ends() == 1 }
  }

  @Test func aStreamForNobodyEnds() throws {
    let stage = try ServerStage()
    let client = try stage.connect()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try stage.wait { stage.exchanges.count == 1 }
    client.close()
    stage.advance(.milliseconds(21))
    let stream = HTTPStream()
    var ends = 0
    stream.onEnd = { ends += 1 }
    stage.exchanges[0].answer(HTTPResponse(status: 200, fields: [], body: .stream(stream)))
    #expect(ends == 1)
  }
}
