import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct FailureTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench()
  }

  @Test(arguments: [206, 300, 304, 305, 400, 403, 404, 410, 500, 503])
  func `a wrong status is reported with the head`(status: Int) throws {
    origin.plan("/a", .status(status, headers: [("X-Why", "so")], body: Array("sorry".utf8)))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.kind == .httpStatus)
    #expect(failure.status == status)
    #expect(failure.head?["x-why"] == "so")
  }

  @Test func `the connection is kept after a short error body, and closed after a long one`() throws {
    origin.plan("/short", .status(404, body: sample(1_000)))
    origin.plan("/endless", .endless(status: 404))
    for _ in 0..<3 { _ = try bench.failure(origin.url("/short")) }
    #expect(origin.connections == 1)
    #expect(try bench.failure(origin.url("/endless")).status == 404)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirect without a location is a wrong status`(status: Int) throws {
    origin.plan("/a", .status(status))
    #expect(try bench.failure(origin.url("/a")).status == status)
  }

  @Test func `a 304 is a result only for a conditional request`() throws {
    origin.plan("/a", .conditional(sample(50), tag: "\"t\"", headers: [("X-New", "1")]))
    let known = [HeaderField("If-None-Match", "\"t\"")]
    let result = try bench.fetch(origin.url("/a"), headers: known)
    #expect(result.head.status == 304)
    #expect(result.head["x-new"] == "1")
    #expect(result.payload.count == 0)
    let other = [HeaderField("if-none-match", "\"u\"")]
    #expect(try bench.fetch(origin.url("/a"), headers: other).bytes == sample(50))
  }

  @Test(arguments: [200, 203, 204, 205])
  func `an empty body is reported`(status: Int) throws {
    origin.plan("/a", .status(status))
    let failure = try bench.failure(origin.url("/a"))
    #expect(failure.kind == .emptyBody)
    #expect(failure.status == status)
  }

  @Test func `a truncated body is reported with its received bytes`() throws {
    origin.plan("/cut", .cut(sample(1_000), after: 300))
    let failure = try bench.failure(origin.url("/cut"))
    #expect(failure.kind == .truncated)
    #expect(failure.expected == 1_000)
    #expect(failure.received == 300)
    origin.plan("/chunks", .chunkedCut([sample(100), sample(20)]))
    #expect(try bench.failure(origin.url("/chunks")).kind == .truncated)
    origin.plan("/longer", .misannounced(sample(100), as: 101))
    #expect(try bench.failure(origin.url("/longer")).kind == .truncated)
  }

  @Test func `a body longer than announced is cut`() throws {
    origin.plan("/a", .misannounced(sample(100), as: 60))
    #expect(try bench.fetch(origin.url("/a")).bytes == Array(sample(100).prefix(60)))
  }

  @Test func `a refused connection is reported`() throws {
    let refusing = try DeafPort()
    let failure = try bench.failure(refusing.url("/a"))
    #expect(failure.kind == .connect)
    #expect(failure.message.contains("127.0.0.1"))
  }

  @Test func `a connection that ends before the answer is reported`() throws {
    origin.plan("/closed", .closed)
    origin.plan("/reset", .reset)
    origin.plan("/half", .raw("HTTP/1.1 200 OK\r\nContent-"))
    for path in ["/closed", "/reset", "/half"] {
      let failure = try bench.failure(origin.url(path))
      #expect(failure.kind == .connect, "\(path): \(failure)")
    }
  }

  @Test(arguments: [BreakingPort.End.closed, .reset])
  func `a handshake whose connection ends is one that failed, and is tried again`(
    end: BreakingPort.End
  ) throws {
    let breaking = try BreakingPort(end)
    let bench = try TransferBench(.with { $0.retries = 1 })
    let failure = try bench.failure("https://127.0.0.1:\(breaking.port)/a")
    #expect(failure.kind == .connect, "\(failure)")
    #expect(failure.message.contains("the TLS handshake with 127.0.0.1 broke off"))
    #expect(failure.retries == 1)
  }

  @Test func `an origin that does not speak TLS is reported`() throws {
    let garbling = try BreakingPort(.garbled)
    let bench = try TransferBench(.with { $0.retries = 1 })
    let failure = try bench.failure("https://127.0.0.1:\(garbling.port)/a")
    #expect(failure.kind == .tls, "\(failure)")
    #expect(failure.retries == 0)
  }

  @Test(arguments: ["hello\r\n", "\r\n", "SSH-2.0-x\r\n"])
  func `an origin that does not speak HTTP is reported`(text: String) throws {
    origin.plan("/a", .raw(text))
    #expect(try bench.failure(origin.url("/a")).kind == .connect)
  }

  @Test func `a name without an address is reported`() throws {
    let failure = try bench.failure("http://nowhere.invalid/a?key=secret")
    #expect(failure.kind == .dns)
    #expect(failure.message.contains("nowhere.invalid"))
    #expect(!failure.message.contains("secret"))
  }

  @Test func `a malformed URL is reported`() throws {
    #expect(try bench.failure("http://").kind == .badURL)
    #expect(try bench.failure("ftp://example.org/a").kind == .blockedScheme)
  }

  @Test func `hostile heads do not trap`() throws {
    let heads = [
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", "HTTP/1.1 999 X\r\n\r\n",
      "HTTP/1.1 000 X\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\nx",
      "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 30_000) + "\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
      "HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: \u{1}\u{2}\r\n\r\n",
    ]
    for (index, head) in heads.enumerated() {
      origin.plan("/\(index)", .raw(head))
      _ = try bench.outcome(of: bench.begin(origin.url("/\(index)")))
    }
  }
}

struct LimitTests {
  let origin: OriginServer

  init() throws { origin = try OriginServer() }

  @Test func `limits stop a body that is announced too long, before it is sent`() throws {
    let bench = try TransferBench()
    origin.plan("/a", .endless(length: 5_000))
    let failure = try bench.failure(origin.url("/a"), maxBytes: 4_999)
    #expect(failure.kind == .tooLarge)
    #expect(failure.limit == 4_999)
    #expect(failure.expected == 5_000)
    #expect(failure.received == 0)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func `limits stop a body without end`() throws {
    let bench = try TransferBench()
    origin.plan("/a", .endless())
    let failure = try bench.failure(origin.url("/a"), maxBytes: 100_000)
    #expect(failure.kind == .tooLarge)
    #expect(failure.expected == nil)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test(arguments: [1, 1_000, 65_536])
  func `a body of exactly the limit is accepted`(count: Int) throws {
    let bench = try TransferBench()
    origin.plan("/a", .chunked([sample(count)]))
    #expect(try bench.fetch(origin.url("/a"), maxBytes: count).payload.count == count)
    #expect(try bench.failure(origin.url("/a"), maxBytes: count - 1).kind == .tooLarge)
  }

  @Test func `limits can be raised during a transfer`() throws {
    let bench = try TransferBench()
    let gate = Gate()
    origin.plan("/a", .held(at: gate, then: .body(sample(5_000))))
    let serial = bench.begin(origin.url("/a"), maxBytes: 10, deadline: .milliseconds(1_500))
    bench.engine.adjust(serial: serial, maxBytes: 5_000, deadline: Patience.limit)
    #expect(gate.waitUntilReached())
    // Another transfer shows when the first deadline has passed.
    origin.plan("/clock", .silence)
    let later = try bench.failure(origin.url("/clock"), deadline: .milliseconds(1_600))
    #expect(later.timeLimit == .milliseconds(1_600))
    gate.open()
    guard case .received = try bench.outcome(of: serial) else {
      throw TransferFailure(.internal, "the limits were not raised")
    }
  }

  @Test func `limits end an attempt to connect`() throws {
    // A listener with a full backlog accepts no more connections and does not refuse them.
    let full = try FullListener()
    let bench = try TransferBench(.with { $0.connectTimeout = .milliseconds(200) })
    let failure = try bench.failure("http://127.0.0.1:\(full.port)/a")
    #expect(failure.kind == .timeout(.connect))
    #expect(failure.timeLimit == .milliseconds(200))
    let whole = try bench.failure("http://127.0.0.1:\(full.port)/a", deadline: .milliseconds(100))
    #expect(whole.kind == .timeout(.connect))
    #expect(whole.timeLimit == .milliseconds(100))
    withExtendedLifetime(full) {}
  }

  @Test func `attempts that lead to no connection are not counted as any`() throws {
    let full = try FullListener()
    origin.plan("/a", .picture(sample(100)))
    let bench = try TransferBench(.with { $0.connectTimeout = .milliseconds(200) })
    for url in ["http://127.0.0.1:\(full.port)/a", "http://127.0.0.1:1/a"] {
      _ = try bench.failure(url)
      #expect(bench.engine.holdings.connections == 0, "\(url)")
    }
    _ = try bench.failure(origin.url("/a").replacing("http://", with: "https://"))
    #expect(bench.engine.holdings.connections == 0, "a handshake that has failed")
    _ = try bench.fetch(origin.url("/a"))
    #expect(bench.engine.holdings.connections == 1)
    withExtendedLifetime(full) {}
  }

  @Test func `limits end a handshake`() throws {
    // The origin waits for the end of a request, which never comes.
    let url = origin.url("/a").replacing("http://", with: "https://")
    // Both have two seconds, of which the way to the origin takes a moment.
    let bench = try TransferBench(.with { $0.connectTimeout = .seconds(2) })
    let first = bench.begin(url)
    let whole = try TransferBench().failure(url, deadline: .seconds(2))
    #expect(whole.kind == .timeout(.tls))
    #expect(try bench.failure(of: first).kind == .timeout(.tls))
  }

  @Test func `limits end a silent origin, before the head, in it and in the body`() throws {
    let bench = try TransferBench(.with { $0.idleTimeout = .seconds(2) })
    origin.plan("/silence", .silence)
    origin.plan("/head", .stalls(after: "HTTP/1.1 200 OK\r\nContent-"))
    origin.plan("/stall", .stalls(sample(1_000), after: 10))
    // All of them are waited for at once.
    let serials = ["/silence", "/head", "/stall"].map { bench.begin(origin.url($0)) }
    let failures = try serials.map { try bench.failure(of: $0) }
    #expect(
      failures.map(\.kind) == [.timeout(.firstByte), .timeout(.firstByte), .timeout(.body)])
    #expect(failures.map(\.timeLimit) == [.seconds(2), .seconds(2), .seconds(2)])
    #expect(failures[2].received == 10)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func `the deadline ends a transfer`() throws {
    let bench = try TransferBench(.with { $0.retries = 9 })
    origin.plan("/silence", .silence)
    let serial = bench.begin(origin.url("/silence"))
    #expect(origin.waitForRequests("/silence"))
    bench.engine.adjust(serial: serial, maxBytes: 1 << 20, deadline: .milliseconds(150))
    let waited = try bench.failure(of: serial)
    #expect(waited.kind == .timeout(.firstByte) && waited.timeLimit == .milliseconds(150))
    #expect(waited.message.contains("127.0.0.1"))
    #expect(origin.waitForOpenConnections(0))
  }
}
