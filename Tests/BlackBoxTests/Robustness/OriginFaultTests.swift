import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Origins that do what they should not: the right code, nothing cached, nobody else delayed.
struct OriginFaultTests {
  private struct Fault: Sendable {
    let name: String
    let code: String
    /// Short for those who hang; an origin of a busy machine may take its time.
    var idleTimeout: String { name.hasPrefix("hangs") ? "1s" : "60s" }
    var extra = ""
    let answer: @Sendable (OriginServer) -> OriginAnswer
  }

  private static let picture = TestPicture.png(bytes: 5_000)
  private static let settings = [
    "Downloads.ConnectTimeout=60s", "Downloads.Timeout=60s", "Downloads.Retries=0",
    "Downloads.MaxBytes=1M", "Downloads.MaxRedirects=3",
  ]

  private static let faults: [Fault] = [
    Fault(name: "closes", code: "connect") { _ in .closed },
    Fault(name: "resets", code: "connect") { _ in .reset },
    Fault(name: "hangs before the head", code: "timeout") { _ in .silence },
    Fault(name: "hangs in the body", code: "timeout") { _ in .stalls(picture, after: 1_000) },
    Fault(name: "hangs in the head", code: "timeout") { _ in
      .held(at: Gate(), then: .closed)
    },
    Fault(name: "sends less than announced", code: "truncated") { _ in
      .misannounced(picture, as: picture.count + 1)
    },
    Fault(name: "breaks off", code: "truncated") { _ in .cut(picture, after: 1_000) },
    Fault(name: "breaks off between chunks", code: "truncated") { _ in .chunkedCut([picture]) },
    Fault(name: "sends HTML as image/png", code: "not_an_image") { _ in
      .picture(Array("<!DOCTYPE html><html><body>Sorry</body></html>".utf8))
    },
    Fault(name: "sends text", code: "not_an_image") { _ in .body(Array("sorry".utf8)) },
    Fault(name: "sends zeros", code: "not_an_image") { _ in
      .picture([UInt8](repeating: 0, count: 5_000))
    },
    Fault(name: "sends nothing", code: "empty_body") { _ in .picture([]) },
    Fault(name: "answers 204", code: "empty_body") { _ in .status(204) },
    Fault(name: "answers 404 with a picture", code: "http_status") { _ in
      .status(404, body: picture)
    },
    Fault(name: "answers 500", code: "http_status") { _ in .status(500) },
    Fault(name: "answers 304 unasked", code: "http_status") { _ in .status(304) },
    Fault(name: "sends without end", code: "too_large") { _ in .endless() },
    Fault(name: "announces too much", code: "too_large") { _ in .endless(length: 10 << 20) },
    Fault(name: "exceeds the request's limit", code: "too_large", extra: #","max_bytes":4999"#) {
      _ in .picture(picture)
    },
    Fault(name: "hangs beyond the request's deadline", code: "timeout", extra: #","timeout_ms":50"#)
    { _ in .silence },
    Fault(name: "redirects to itself", code: "too_many_redirects") {
      .redirect(to: $0.url("/fault"))
    },
    Fault(name: "redirects in a circle", code: "too_many_redirects") { origin in
      origin.plan("/back", .redirect(to: "/fault"))
      return .redirect(to: "/back")
    },
    Fault(name: "redirects for ever", code: "too_many_redirects") { origin in
      for number in 0..<20 { origin.plan("/\(number)", .redirect(to: "/\(number + 1)")) }
      return .redirect(to: "/0")
    },
    Fault(name: "redirects to a file", code: "blocked_scheme") { _ in
      .redirect(to: "file:///etc/passwd")
    },
    Fault(name: "redirects to ftp", code: "blocked_scheme") { _ in
      .redirect(to: "ftp://127.0.0.1/a.png")
    },
    Fault(name: "redirects to link-local", code: "blocked_address") { _ in
      .redirect(to: "http://169.254.169.254/latest/meta-data")
    },
    Fault(name: "redirects to mapped link-local", code: "blocked_address") { _ in
      .redirect(to: "http://[::ffff:169.254.169.254]/")
    },
    Fault(name: "redirects to 0.0.0.0", code: "blocked_address") { _ in
      .redirect(to: "http://0.0.0.0/")
    },
    Fault(name: "redirects without saying where to", code: "http_status") { _ in .status(302) },
    Fault(name: "speaks another protocol", code: "connect") { _ in .raw("220 ready\r\n") },
    Fault(name: "has a head without end", code: "connect") { _ in
      .raw(
        "HTTP/1.1 200 OK\r\n"
          + String(repeating: "X-Filler: \(String(repeating: "y", count: 1_000))\r\n", count: 500)
          + "\r\n")
    },
  ]

  /// The faults of one daemon, each of an origin of its own.
  @Test(arguments: ["1s", "60s"])
  func `a fault is told and nothing is kept`(idleTimeout: String) throws {
    let daemon = try DaemonProcess(
      settings: Self.settings + ["Downloads.IdleTimeout=\(idleTimeout)"])
    let witness = try Witness(daemon)
    let faults = Self.faults.filter { $0.idleTimeout == idleTimeout }
    for (number, fault) in faults.enumerated() {
      try expect(fault, of: daemon, seenBy: witness)
      let kept = try witness.ask(#"{"cmd":"entries"}"#)["entries"]?.array?.count
      #expect(kept == number + 1, "\(fault.name)")
    }
  }

  private func expect(_ fault: Fault, of daemon: DaemonProcess, seenBy witness: Witness) throws {
    let origin = try OriginServer()
    defer { origin.stop() }
    origin.plan("/fine.png", .picture(Self.picture))
    let hit = #"{"cmd":"fetch","url":"\#(origin.url("/fine.png"))","deliver":"none"}"#
    #expect(try witness.ask(hit)["ok"]?.bool == true, "\(fault.name)")
    origin.plan("/fault", fault.answer(origin))
    let files = daemon.openFiles

    let client = try daemon.connect()
    try client.send(
      #"{"cmd":"fetch","id":1,"url":"\#(origin.url("/fault"))"\#(fault.extra)}"#, hit)
    let lines = [try client.receive(), try client.receive()]
    let other = try #require(lines.first { $0["id"] == nil }, "\(fault.name)")
    let answer = try #require(lines.first { $0["id"] != nil }, "\(fault.name)")
    #expect(other["source"]?.string == "memory", "\(fault.name): nothing is held up by it")
    // A fault that is there at once may be told before the next line is looked at.
    #expect(lines[0]["id"] == nil || fault.idleTimeout == "60s", "\(fault.name)")
    #expect(answer["ok"]?.bool == false, "\(fault.name)")
    #expect(answer.failureCode == fault.code, "\(fault.name): \(answer.failureMessage)")
    #expect(!answer.failureMessage.isEmpty, "\(fault.name)")
    #expect(try witness.waits(for: "downloads", "active", toBe: 0), "\(fault.name)")
    #expect(
      try becomes { daemon.openFiles <= files + 3 }, "\(fault.name): idle connections are kept")
    #expect(try client.ask(hit)["ok"]?.bool == true, "\(fault.name)")
  }

  /// What runs beside an origin must hold nothing of it, or its end would not be seen.
  @Test func `an origin's end is seen whatever has been started meanwhile`() throws {
    let gate = Gate()
    let origin = try OriginServer()
    origin.plan("/a.png", .held(at: gate, then: .closed))
    let daemon = try DaemonProcess(settings: Self.settings + ["Downloads.IdleTimeout=60s"])
    let client = try daemon.connect()
    try client.send(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#)
    #expect(gate.waitUntilReached())
    let neighbour = try DaemonProcess()
    gate.open()
    #expect(try client.receive().failureCode == "connect")
    neighbour.kill()
  }

  @Test func `an origin that refuses is told at once`() throws {
    let nobody = try DeafPort()
    let daemon = try DaemonProcess(settings: Self.settings)
    let answer = try daemon.connect().ask(
      #"{"cmd":"fetch","url":"\#(nobody.url("/a.png"))"}"#)
    #expect(answer.failureCode == "connect")
    #expect(answer["error"]?["retryable"]?.bool == true)
  }

  @Test func `an origin that accepts nothing times out`() throws {
    let listener = try FullListener()
    let daemon = try DaemonProcess(
      settings: Self.settings + ["Downloads.ConnectTimeout=200ms"])
    let answer = try daemon.connect().ask(
      #"{"cmd":"fetch","url":"http://127.0.0.1:\#(listener.port)/a.png"}"#)
    #expect(answer.failureCode == "timeout", "\(answer.failureMessage)")
  }

  @Test func `a longer body than announced is cut there`() throws {
    let origin = try OriginServer()
    origin.plan("/a.png", .misannounced(Self.picture + [1, 2, 3], as: Self.picture.count))
    let daemon = try DaemonProcess(settings: Self.settings)
    let answer = try daemon.connect().ask(
      #"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#)
    #expect(answer["bytes"]?.integer == Int64(Self.picture.count))
  }

  @Test func `addresses that are never asked are blocked at once`() throws {
    let daemon = try DaemonProcess(settings: Self.settings)
    let client = try daemon.connect()
    for host in [
      "169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]", "224.0.0.1", "255.255.255.255",
      "[::ffff:169.254.1.1]", "2852039166", "0xa9.0xfe.0xa9.0xfe",
    ] {
      let answer = try client.ask(#"{"cmd":"fetch","url":"http://\#(host)/a.png"}"#)
      #expect(answer.failureCode == "blocked_address", "\(host): \(answer.failureMessage)")
    }
  }

  @Test func `an endless body ends at the limit`() throws {
    let origin = try OriginServer()
    origin.plan("/endless", .endless())
    let daemon = try DaemonProcess(settings: ["Downloads.Retries=0"])
    let witness = try Witness(daemon)
    for _ in 0..<3 {
      let answer = try witness.ask(
        #"{"cmd":"fetch","url":"\#(origin.url("/endless"))","max_bytes":10000000}"#)
      #expect(answer.failureCode == "too_large")
    }
    #expect(try witness.waits(for: "downloads", "active", toBe: 0))
    #expect(origin.waitForOpenConnections(0))
  }
}
