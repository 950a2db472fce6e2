import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// The answer to a request for the bytes from 600 on of a thousand.
private func rest(_ fields: [(String, String)]) -> OriginAnswer {
  .body(Array(sample(1_000).dropFirst(600)), status: 206, headers: fields)
}

struct BrokenBodyTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench(.with { $0.retries = 2 })
  }

  @Test(arguments: [(2, 1), (1_000, 600), (300_000, 10_000), (300_000, 200_000), (16_385, 16_384)])
  func `a body that breaks off is continued where it stopped`(count: Int, there: Int) throws {
    origin.plan(
      "/a", .cut(sample(count), after: there, headers: BrokenBody.headers),
      .ranged(sample(count), tag: BrokenBody.tag, headers: [("X-New", "1")]))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(count))
    #expect(result.resumedFrom == there)
    #expect(result.retries == 1)
    #expect(result.head.status == 200)
    #expect(result.head["content-length"] == "\(count)")
    #expect(result.head["content-range"] == nil)
    #expect(result.head["x-new"] == "1")
    #expect(origin.ranges("/a") == [nil, "bytes=\(there)-"])
    #expect(origin.requests("/a").last?.header("if-range") == BrokenBody.tag)
    #expect(origin.requests("/a").last?.header("accept-encoding") == "identity")
  }

  @Test func `a body that breaks off is continued by the date of the last change`() throws {
    let modified = ("Last-Modified", "Thu, 01 Jan 2026 12:00:00 GMT")
    let dates = [modified, ("Date", "Fri, 02 Jan 2026 12:00:00 GMT"), ("Accept-Ranges", "bytes")]
    origin.plan(
      "/a", .cut(sample(1_000), after: 600, headers: dates),
      rest([modified, ("Content-Range", "bytes 600-999/1000")]))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.requests("/a").last?.header("if-range") == modified.1)
  }

  @Test func `a body that breaks off is continued after a silence`() throws {
    let bench = try TransferBench(
      .with {
        $0.retries = 1
        $0.idleTimeout = .seconds(3)
      })
    origin.plan("/a", .stalls(sample(1_000), after: 600, headers: BrokenBody.headers), .whole)
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(1_000))
    #expect(result.resumedFrom == 600)
  }

  @Test func `a body that breaks off is continued as long as it grows and attempts remain`() throws {
    origin.plan("/a", .ranged(sample(1_000), tag: BrokenBody.tag, most: 400))
    let result = try bench.fetch(origin.url("/a"))
    #expect(result.bytes == sample(1_000))
    #expect(result.retries == 2)
    #expect(origin.ranges("/a") == [nil, "bytes=400-", "bytes=800-"])
    origin.plan("/b", .ranged(sample(1_000), tag: BrokenBody.tag, most: 300))
    let failure = try bench.failure(origin.url("/b"))
    #expect(failure.kind == .truncated)
    #expect(failure.received == 900 && failure.expected == 1_000)
    #expect(origin.ranges("/b") == [nil, "bytes=300-", "bytes=600-"])
  }

  @Test func `a body that breaks off is given up when it does not grow`() throws {
    let bench = try TransferBench(.with { $0.retries = 9 })
    origin.plan("/a", .broken, .ranged(sample(1_000), tag: BrokenBody.tag, most: 0))
    #expect(try bench.failure(origin.url("/a")).kind == .truncated)
    #expect(origin.ranges("/a") == [nil, "bytes=600-", "bytes=600-"])
  }

  @Test func `a body that breaks off is continued by one part after the other`() throws {
    func part(_ range: Range<Int>) -> OriginAnswer {
      let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000"
      let fields = [("ETag", BrokenBody.tag), ("Content-Range", value)]
      return .body(Array(sample(1_000)[range]), status: 206, headers: fields)
    }
    origin.plan("/a", .broken, part(600..<601), part(601..<1_000))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, "bytes=600-", "bytes=601-"])
  }

  @Test func `a body that breaks off is continued after a 503`() throws {
    origin.plan("/a", .broken, .status(503), .whole)
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, "bytes=600-", "bytes=600-"])
  }

  @Test func `a body that breaks off is continued after a reset`() throws {
    origin.plan("/a", .broken, .reset, .whole)
    #expect(try bench.fetch(origin.url("/a")).resumedFrom == 600)
  }

  @Test func `a body that breaks off starts over with a changed answer`() throws {
    let other = Array(sample(2_000).reversed())
    origin.plan("/a", .broken, .ranged(other, tag: "\"2\""))
    let serial = bench.begin(origin.url("/a"))
    guard case .received(let result) = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(result.bytes == other)
    #expect(result.resumedFrom == 0)
    #expect(result.head["etag"] == "\"2\"")
    #expect(bench.heads(of: serial).isPart(of: [1_000, 2_000]))
  }

  @Test func `a body that breaks off is fetched whole when the rest does not match`() throws {
    let range = ("Content-Range", "bytes 600-999/1000")
    let answers: [(String, OriginAnswer)] = [
      ("another version", rest([range, ("ETag", "\"2\"")])),
      ("a weak tag", rest([range, ("ETag", "W/\"1\"")])),
      ("no tag", rest([range])),
      ("no range", rest([("ETag", BrokenBody.tag)])),
      (
        "an earlier start",
        rest([("ETag", BrokenBody.tag), ("Content-Range", "bytes 599-998/1000")])
      ),
      (
        "a later start", rest([("ETag", BrokenBody.tag), ("Content-Range", "bytes 601-1000/1000")])
      ),
      ("another total", rest([("ETag", BrokenBody.tag), ("Content-Range", "bytes 600-999/1001")])),
      ("no total", rest([("ETag", BrokenBody.tag), ("Content-Range", "bytes 600-999/*")])),
      (
        "another length", rest([("ETag", BrokenBody.tag), ("Content-Range", "bytes 600-998/1000")])
      ),
      ("packed", rest([range, ("ETag", BrokenBody.tag), ("Content-Encoding", "gzip")])),
      (
        "many parts",
        rest([("ETag", BrokenBody.tag), ("Content-Type", "multipart/byteranges; boundary=x")])
      ),
      ("more than it says", .raw(Self.overlong)),
      ("beyond the end", .status(416, headers: [("Content-Range", "bytes */1000")])),
      ("unsatisfiable", .status(416)),
    ]
    for (index, (name, answer)) in answers.enumerated() {
      origin.plan("/\(index)", .broken, answer, .body(sample(1_000)))
      let result = try bench.fetch(origin.url("/\(index)"))
      #expect(result.bytes == sample(1_000), "\(name)")
      #expect(result.resumedFrom == 0 && result.retries == 1, "\(name)")
      #expect(origin.ranges("/\(index)") == [nil, "bytes=600-", nil], "\(name)")
      #expect(result.head["content-range"] == nil, "\(name)")
    }
  }

  private static let overlong =
    "HTTP/1.1 206 Part\r\nETag: \"1\"\r\nContent-Range: bytes 600-699/1000\r\n\r\n"
    + String(repeating: "x", count: 400)

  @Test(arguments: [206, 416])
  func `a body that breaks off is requested whole once`(status: Int) throws {
    origin.plan("/a", .broken, .status(status, body: sample(400)))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.status == status)
    #expect(origin.ranges("/a") == [nil, "bytes=600-", nil])
  }

  @Test(arguments: [304, 404, 412])
  func `a body that breaks off is dropped after a permanent error`(status: Int) throws {
    origin.plan("/a", .broken, .status(status), .body(sample(9)))
    #expect(try bench.failure(origin.url("/a")).status == status)
    _ = try bench.fetch(origin.url("/a"))
    #expect(origin.ranges("/a") == [nil, "bytes=600-", nil])
  }

  @Test func `a body that breaks off without a strong validator is fetched from its start`() throws {
    let ranges = ("Accept-Ranges", "bytes")
    let date = ("Date", "Fri, 02 Jan 2026 12:00:00 GMT")
    let fresh = ("Last-Modified", "Fri, 02 Jan 2026 11:59:50 GMT")
    let answers: [(String, OriginAnswer)] = [
      ("weak", .cut(sample(1_000), after: 600, headers: [ranges, ("ETag", "W/\"1\"")])),
      ("no validator", .cut(sample(1_000), after: 600, headers: [ranges])),
      ("just changed", .cut(sample(1_000), after: 600, headers: [ranges, date, fresh])),
      ("no ranges", .cut(sample(1_000), after: 600, headers: [("ETag", BrokenBody.tag)])),
      (
        "ranges refused",
        .cut(sample(9), after: 6, headers: [("ETag", BrokenBody.tag), ("Accept-Ranges", "none")])
      ),
      (
        "packed",
        .cut(sample(9), after: 6, headers: BrokenBody.headers + [("Content-Encoding", "br")])
      ),
      ("nothing there", .cut(sample(1_000), after: 0, headers: BrokenBody.headers)),
    ]
    for (index, (name, answer)) in answers.enumerated() {
      origin.plan("/\(index)", answer, .whole)
      let result = try bench.fetch(origin.url("/\(index)"))
      #expect(result.bytes == sample(1_000), "\(name)")
      #expect(origin.ranges("/\(index)") == [nil, nil], "\(name)")
    }
  }

  @Test(arguments: ["If-None-Match", "If-Match"])
  func `a body that breaks off is fetched from its start when the order has conditions`(
    name: String
  ) throws {
    origin.plan("/a", .broken, .whole)
    let result = try bench.fetch(origin.url("/a"), headers: [HeaderField(name, "\"0\"")])
    #expect(result.bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, nil])
  }

  @Test func `a body that breaks off may get its length from a later part`() throws {
    origin.plan("/a", .chunkedCut([sample(600)], headers: BrokenBody.headers), .whole)
    let serial = bench.begin(origin.url("/a"))
    guard case .received(let result) = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(result.bytes == sample(1_000))
    #expect([[nil], [1_000]].contains(bench.heads(of: serial)))
    #expect(bench.reports(of: serial).isPart(of: ["600/1000"]))
  }

  @Test func `a body that breaks off makes progress over the whole, and is announced once`() throws {
    origin.plan("/a", .ranged(sample(1_000), tag: BrokenBody.tag, most: 400))
    let serial = bench.begin(origin.url("/a"))
    guard case .received = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "not received")
    }
    #expect(bench.heads(of: serial).isPart(of: [1_000]))
    #expect(bench.reports(of: serial).isPart(of: ["400/1000", "800/1000"]))
  }

  @Test func `the whole of a continued body counts against the limit`() throws {
    let cut = OriginAnswer.chunkedCut([sample(600)], headers: BrokenBody.headers)
    origin.plan("/a", cut, .whole)
    let failure = try bench.failure(origin.url("/a"), maxBytes: 999)
    #expect(failure.kind == .tooLarge)
    #expect(failure.limit == 999 && failure.expected == 1_000)
    origin.plan("/b", cut, .whole)
    #expect(try bench.fetch(origin.url("/b"), maxBytes: 1_000).bytes == sample(1_000))
  }

  @Test func `a body that breaks off is forgotten when the origin redirects then`() throws {
    origin.plan("/a", .broken, .redirect(to: "/b"), .whole)
    #expect(try bench.redirect(origin.url("/a")).target == origin.url("/b"))
    #expect(try bench.fetch(origin.url("/a")).bytes == sample(1_000))
    #expect(origin.ranges("/a") == [nil, "bytes=600-", nil])
  }
}
