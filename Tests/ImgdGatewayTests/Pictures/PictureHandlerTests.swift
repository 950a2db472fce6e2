import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

/// Requests for pictures, from the admitted request to the answer.
struct PictureHandlerTests {
  private let stage: PictureStage

  init() throws { stage = try PictureStage() }

  private var fetches: [JSONValue] { stage.daemon.requests("fetch").map(\.line) }

  @Test(arguments: [
    (Disposition(isAttachment: true), "attachment"),
    (Disposition(filename: "cat"), #"inline; filename="cat.jpg""#),
    (Disposition(filename: "cat.JPG", isAttachment: true), #"attachment; filename="cat.JPG""#),
    (Disposition(filename: "cat.jpeg"), #"inline; filename="cat.jpeg""#),
    (
      Disposition(filename: #"é"; x%"#),
      #"inline; filename="__; x_.jpg"; filename*=UTF-8''%C3%A9%22%3B%20x%25.jpg"#
    ),
  ])
  func `a file has the name that the target gives it`(disposition: Disposition, text: String) {
    #expect(disposition.text(for: "image/jpeg") == text)
  }

  @Test func `the daemon is asked for what the request wants, and for nothing else`() {
    _ = stage.ask { $0 = PictureRequest(url: "http://h/a?b=\"c\"") }
    _ = stage.ask {
      ($0.width, $0.height, $0.fit, $0.crop, $0.enlarge) = (300, 200, .cover, .attention, true)
      ($0.format, $0.quality) = (.webp, 70)
    }
    _ = stage.ask { $0.height = 50 }
    let lines = fetches.map { line in
      JSONValue.object((line.object ?? []).filter { !["id", "receipt"].contains($0.name) })
    }
    #expect(
      lines == [
        [
          "cmd": "fetch", "url": "http://h/a?b=\"c\"", "deliver": "fd",
          "wait_online": false, "timeout_ms": 30_000,
        ],
        [
          "cmd": "fetch", "url": "http://h/a", "deliver": "fd",
          "resize": [
            "width": 300, "height": 200, "fit": "cover", "crop": "attention", "enlarge": true,
          ], "format": "webp", "quality": 70, "wait_online": false,
          "timeout_ms": 30_000,
        ],
        [
          "cmd": "fetch", "url": "http://h/a", "deliver": "fd", "resize": ["height": 50],
          "wait_online": false, "timeout_ms": 30_000,
        ],
      ])
  }

  @Test func `a picture comes with its validators, its age and what is left of its lifetime`() {
    let answer = stage.ask(lent: #","modified":"1994-11-06T08:49:37Z""#)
    #expect(answer.status == 200 && answer.part == 0..<100)
    let fields = [
      "Content-Type": "image/png", "ETag": "\"00112233445566aa\"", "Age": "3",
      "Cache-Control": "public, max-age=60", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
      "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "inline",
      "Cache-Status": "imgd; hit; ttl=57",
    ]
    #expect(answer.answers[0].fields.count == fields.count)
    for (name, value) in fields { #expect(answer[name] == value) }
  }

  @Test(
    arguments: [
      (#","stale":true"#, "", "public, max-age=3"), ("", #","keep":false"#, "no-store"),
    ])
  func `the lifetime is that of the daemon's answer`(
    fields: String, lent: String, control: String
  ) {
    #expect(stage.ask(fields: fields, lent: lent)["Cache-Control"] == control)
  }

  /// A daemon that has a drawing, and makes a PNG of it unless it is stubborn.
  private func planDrawing(isStubborn: Bool = false) {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] request in
      guard request.command == "fetch" else { return daemon.answer(request) }
      let isMade = request.line["format"]?.string == "png" && !isStubborn
      daemon.give(request, type: isMade ? "image/png" : "image/svg+xml")
    }
  }

  @Test(arguments: [HTTPMethod.get, .head], [[], [("Range", "bytes=0-9")], [("If-Match", "*")]])
  func `a drawing is asked for again as a PNG`(method: HTTPMethod, sent: [(String, String)]) {
    planDrawing()
    let exchange = PlannedExchange(method, sent)
    stage.begin(exchange) { $0.form.quality = 7 }
    #expect([200, 206].contains(exchange.status) && exchange["Content-Type"] == "image/png")
    #expect(fetches.map { $0["format"]?.string } == [nil, "png"])
    #expect(fetches.map { $0["quality"]?.integer } == [7, 7])
  }

  @Test func `a drawing that comes in spite of that is no answer`() {
    planDrawing(isStubborn: true)
    let exchange = PlannedExchange()
    stage.begin(exchange)
    #expect(exchange.status == 503 && exchange["Content-Type"] == "application/json")
    #expect(fetches.count == 2)
  }

  @Test func `HEAD has the fields of GET`() {
    let (get, head) = (stage.ask(), stage.ask(.head))
    #expect(head.status == 200)
    #expect(get.answers[0].fields.map(\.value) == head.answers[0].fields.map(\.value))
  }

  @Test func `other methods are refused`() {
    let answer = stage.ask(.post)
    #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD")
    #expect(fetches.isEmpty)
  }

  // MARK: Formats

  @Test(
    arguments: [
      ("image/avif,image/webp", ["avif", "webp"]), ("image/webp", ["webp"]), ("image/*", []),
      ("", []),
    ] as [(String, [JSONValue])])
  func `the formats are those of the client, and caches are told`(
    accept: String, formats: [JSONValue]
  ) {
    let answer = stage.ask(.get, [("Accept", accept)]) { $0.format = .auto }
    #expect(answer["Vary"] == "Accept")
    #expect(fetches[0]["format"] == .array(formats + ["original", "jpeg", "png"]))
    #expect(stage.ask(.get, [("Accept", accept)])["Vary"] == nil)
  }

  @Test func `every answer to a request that varies says so`() {
    let tag = "\"00112233445566aa\""
    let auto: (inout PictureRequest) -> Void = { $0.format = .auto }
    for sent in [[("If-None-Match", tag)], [("If-Match", "\"x\"")], [("Range", "bytes=900-")]] {
      #expect(stage.ask(.get, sent, auto)["Vary"] == "Accept")
    }
  }

  // MARK: Failures

  @Test func `a failure of the daemon's is told`() {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] request in
      daemon.answer(request, #""ok":false,"error":{"code":"dns","message":"no such name"}"#)
    }
    let exchange = PlannedExchange()
    stage.begin(exchange)
    #expect(exchange.status == 502 && exchange.text?.contains("no such name") == true)
  }

  @Test func `without a daemon there is an answer, too`() {
    stage.daemon.close()
    let exchange = PlannedExchange()
    stage.begin(exchange)
    #expect(exchange.status == 503 && exchange["Retry-After"] == "1")
  }

  @Test(arguments: [
    #""ok":true"#, #""ok":true,"type":"image/png","fds":[]"#,
    #""ok":true,"type":"image/png","fds":[{"bytes":0}]"#,
    #""ok":true,"type":"image/png","fds":[{"bytes":7}]"#,
    #""ok":true,"fds":[{"bytes":7}]"#,
  ])
  func `an answer without its picture is a failure`(fields: String) {
    stage.daemon.onRequest = { [unowned daemon = stage.daemon] in daemon.answer($0, fields) }
    let exchange = PlannedExchange()
    stage.begin(exchange)
    #expect(exchange.status == 503)
  }

  @Test func `a daemon that is silent is not waited for for ever`() {
    let exchange = PlannedExchange()
    stage.begin(exchange)
    stage.pass(.seconds(31))
    #expect(exchange.answers.isEmpty)
    stage.pass(.seconds(1))
    #expect(exchange.status == 504)
    #expect(stage.daemon.requests("cancel").count == 1)
    stage.daemon.give(stage.daemon.requests[0])
    stage.loop.settle()
    #expect(exchange.answers.count == 1)
  }

  @Test func `no cache answers a target after its end`() {
    let soon = stage.ask { $0.expires = Int(PictureStage.now) + 10 }
    #expect(soon["Cache-Control"] == "public, max-age=13")
    let later = stage.ask { $0.expires = Int(PictureStage.now) + 1_000 }
    #expect(later["Cache-Control"] == "public, max-age=60")
  }

  // MARK: Clients that leave

  @Test func `the fetch of a client that leaves is cancelled`() {
    let exchange = PlannedExchange()
    stage.begin(exchange)
    exchange.leave()
    stage.loop.settle()
    #expect(stage.daemon.requests("cancel").count == 1)
    stage.daemon.give(stage.daemon.requests[0])
    stage.pass(.seconds(40))
    #expect(exchange.answers.isEmpty)
  }

  @Test func `nobody is told of a client that leaves with its answer`() {
    let answer = stage.ask()
    #expect(answer.onLeave == nil)
    stage.pass(.seconds(40))
    #expect(answer.answers.count == 1)
  }

  @Test func `what was done is counted`() {
    _ = stage.ask()
    _ = stage.ask(.head) { $0.url = "http://h/b" }
    _ = stage.ask(.get, [("Range", "bytes=0-9")])
    _ = stage.ask(.get, [("If-None-Match", "*")])
    _ = stage.ask(.post)
    #expect(stage.tally.bytes.count == 110)
  }
}
