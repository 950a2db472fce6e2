import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct BadAnswerTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench(.with { $0.retries = 2 })
  }

  private func refused(_ path: String) throws -> TransferFailure {
    let failure = try bench.failure(origin.url(path))
    #expect(failure.kind == .badAnswer, "\(failure)")
    #expect(failure.message.contains("127.0.0.1"))
    #expect(failure.retries == 0)
    #expect(origin.waitForOpenConnections(0))
    return failure
  }

  @Test func `trailers without end are refused`() throws {
    origin.plan("/a", .endlessTrailers(sample(1_000)))
    #expect(try refused("/a").message.contains("65536 bytes"))
  }

  @Test func `interim answers without end are refused`() throws {
    origin.plan("/a", .endlessHints)
    _ = try refused("/a")
  }

  @Test(arguments: [200, 302, 404])
  func `a head with a line without end is refused`(status: Int) throws {
    origin.plan("/a", .endlessLine(status: status))
    _ = try refused("/a")
  }

  @Test(arguments: [200, 302, 404])
  func `a head with too many fields is refused`(status: Int) throws {
    let fields = (0..<201).map { ("F\($0)", "v") }
    origin.plan("/a", .status(status, headers: fields, body: sample(10)))
    _ = try refused("/a")
  }

  @Test(arguments: [200, 302, 404])
  func `a head with too many bytes is refused`(status: Int) throws {
    // Less than curl itself would refuse, in fewer fields than the engine does.
    let fields = (0..<100).map { ("F\($0)", String(repeating: "v", count: 1_000)) }
    origin.plan("/a", .status(status, headers: fields, body: sample(10)))
    _ = try refused("/a")
  }

  @Test func `a trailer with a line without end ends the transfer`() throws {
    let line = [UInt8](repeating: 0x2e, count: 100_000)
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Long: "
    origin.plan("/a", .raw(Array(start.utf8) + line))
    #expect(try bench.failure(origin.url("/a")).kind == .truncated)
  }

  @Test func `two different lengths are refused, and equal ones are not`() throws {
    origin.plan("/a", .body(sample(10), headers: [("Content-Length", "11")]))
    #expect(try refused("/a").message.contains("two different lengths"))
    origin.plan("/b", .body(sample(10), headers: [("Content-Length", "10")]))
    #expect(try bench.fetch(origin.url("/b")).bytes == sample(10))
  }

  @Test func `an answer with a few trailers is received`() throws {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nA: b\r\n\r\n"
    origin.plan("/a", .raw(text))
    #expect(try bench.fetch(origin.url("/a")).text == "ab")
  }
}
