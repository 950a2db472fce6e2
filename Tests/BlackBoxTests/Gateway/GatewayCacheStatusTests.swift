import ImgdTestSupport
import ImgdWire
import Testing

/// What `Cache-Status` says of answers, with a real daemon and a real origin.
struct GatewayCacheStatusTests {
  private static let picture = TestPicture.png(bytes: 500)
  private let stage: GatewayStage

  init() throws { stage = try GatewayStage(["Allow=127.0.0.1", "Workers=1"]) }

  private func plan(_ path: String, _ control: String, tag: String = "\"a\"") {
    stage.origin.plan(
      path, .conditional(Self.picture, tag: tag, headers: [("Content-Type", "image/png"), ("Cache-Control", control)]))
  }

  /// The parameters of an answer's status, and its lifetime apart.
  private func ask(_ path: String, _ form: String = "", _ fields: [String] = []) throws -> (text: String, ttl: Int?) {
    try Self.read(stage.gateway.fetch(stage.url(path), form, fields))
  }

  private static func read(_ answer: HTTPAnswer) throws -> (text: String, ttl: Int?) {
    guard let status = answer.cacheStatus else { throw TestFailure("no status: \(answer.fields)") }
    var ttl: Int?
    if case .integer(let seconds)? = status["ttl"] { ttl = seconds }
    let texts = status.parameters.filter { $0.key != "ttl" }.map { parameter in
      switch parameter.value {
      case .flag(true): parameter.key
      case .token(let text): "\(parameter.key)=\(text)"
      case .integer(let number): "\(parameter.key)=\(number)"
      default: "\(parameter.key)=\(parameter.value)"
      }
    }
    return (texts.joined(separator: " "), ttl)
  }

  @Test func `a miss, then hits, of forms as well`() throws {
    plan("/a", "max-age=600")
    let first = try ask("/a")
    #expect(first.text == "fwd=miss fwd-status=200 stored" && first.ttl == 600)
    for form in ["", "", "", "&width=10", "&width=10"] {
      let again = try ask("/a", form)
      #expect(again.text == "hit" && again.ttl.map { 570...600 ~= $0 } == true, "\(form)")
    }
    for field in ["If-None-Match: *", "If-Match: \"x\"", "Range: bytes=0-9", "Range: bytes=9000-"] {
      #expect(try ask("/a", "", [field]).text == "hit", "\(field)")
    }
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `what others must not keep is not said to be stored`() throws {
    plan("/own", "no-store")
    #expect(try ask("/own").text == "fwd=miss fwd-status=200")
  }

  @Test func `a picture is confirmed, or replaced`() throws {
    plan("/a", "max-age=0")
    #expect(try ask("/a").text == "fwd=miss fwd-status=200 stored")
    let confirmed = try ask("/a")
    #expect(confirmed.text == "fwd=stale fwd-status=304" && confirmed.ttl == 0)
    plan("/a", "max-age=600", tag: "\"b\"")
    let replaced = try ask("/a")
    #expect(replaced.text == "fwd=stale fwd-status=200" && replaced.ttl == 600)
    #expect(try ask("/a").text == "hit")
  }

  @Test func `a stale picture says for how long it is that`() throws {
    for (path, control, text) in [
      ("/later", "max-age=0, stale-while-revalidate=600", "hit"),
      ("/failed", "max-age=0, stale-if-error=600", "fwd=stale"),
    ] {
      plan(path, control)
      _ = try ask(path)
      stage.origin.plan(path, .status(503))
      let stale = try ask(path)
      #expect(stale.text == text && stale.ttl.map { -30...0 ~= $0 } == true, "\(path)")
    }
    let old = [("Cache-Control", "max-age=100, stale-while-revalidate=900"), ("Age", "150")]
    stage.origin.plan("/old", .picture(Self.picture, headers: old))
    _ = try ask("/old")
    #expect(try ask("/old").ttl.map { -90 ... -50 ~= $0 } == true)
  }

  @Test func `who joins a download says so`() throws {
    let gate = Gate()
    let headers = [("Cache-Control", "max-age=600")]
    stage.origin.plan("/a", .held(at: gate, then: .picture(Self.picture, headers: headers)))
    let clients = try (0..<3).map { _ in try HTTPConversation(stage.gateway.socket) }
    for client in clients { try client.send("/fetch?url=" + stage.url("/a")) }
    #expect(gate.waitUntilReached())
    #expect(
      try becomes {
        try stage.stage.daemon.connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array?.count == 3
      })
    gate.open()
    let texts = try clients.map { try Self.read($0.answer()).text }.sorted()
    let miss = "fwd=miss fwd-status=200 stored"
    #expect(texts == [miss, miss + " collapsed", miss + " collapsed"])
  }

  @Test func `errors say what has failed, and whether the origin was asked`() throws {
    stage.origin.plan("/missing", .status(404))
    stage.origin.plan("/page", .picture(Array("<html>".utf8)))
    #expect(try ask("/missing").text == "fwd=miss fwd-status=404 detail=http_status")
    #expect(try ask("/missing").text == "hit detail=http_status")
    #expect(try ask("/page").text == "detail=not_an_image")
    plan("/gone", "max-age=0")
    _ = try ask("/gone")
    stage.origin.plan("/gone", .status(410))
    #expect(try ask("/gone").text == "fwd=stale fwd-status=410 detail=http_status")
    let away = try Self.read(stage.gateway.fetch("http://127.0.0.1:1/a"))
    #expect(away.text == "detail=connect")
    for target in ["/fetch?url=x", "/fetch?url=http://closed.example/", "/nothing", "/health"] {
      #expect(try stage.gateway.get(target).cacheStatus == nil, "\(target)")
    }
    stage.stage.daemon.stop()
    #expect(try ask("/missing").text == "detail=unavailable")
  }

  @Test func `the lists of the RFC are read, and others are not`() throws {
    let list = try StructuredList("a; hit; ttl=-1,\t\"b \\\"\";x=?0; y=1.5 , (c d;e);f=*g, :AAE=:")
    #expect(list.members.count == 4 && list.members[0]["hit"] == .flag(true))
    #expect(list.members[0]["ttl"] == .integer(-1) && list.members[2]["f"] == .token("*g"))
    #expect(list.members[3].value == .item(.bytes([0, 1])))
    for text in [
      "a,", "a b", "a;", "a; B", "a;b=", "\"a", "a=1", "(a", "1.", "1.2345", "1234567890123456", "?2", "é",
      "a;b =1", ",a", "\"\\a\"", ":a", "a\t;b",
    ] {
      #expect(throws: TestFailure.self, "\(text)") { try StructuredList(text) }
    }
  }
}
