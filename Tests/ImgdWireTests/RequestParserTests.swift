import Testing

@testable import ImgdWire

struct RequestParserTests {
  static let uuid = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
  static let receipt = ReceiptID(uuid) ?? .random(using: (0, 0))

  static let commands: [(String, Request)] = [
    (#"{"cmd":"fetch","url":"u"}"#, .fetch(FetchRequest(url: "u"))),
    (#"{"cmd":"cancel","receipt":"\#(uuid)"}"#, .cancel(.receipt(receipt))),
    (#"{"cmd":"cancel","slot":"s"}"#, .cancel(.slot("s"))),
    (#"{"tag":"t","cmd":"cancel"}"#, .cancel(.tag("t"))),
    (#"{"cmd":"cancel","all":true}"#, .cancel(.all)),
    (#"{"cmd":"wait","receipt":"\#(uuid)"}"#, .wait(WaitRequest(receipt: receipt))),
    (
      #"{"cmd":"wait","receipt":"\#(uuid)","deliver":"fd"}"#,
      .wait(WaitRequest(receipt: receipt, delivery: .fd))
    ),
    (#"{"cmd":"list"}"#, .list(PageRequest())), (#"{"cmd":"slots"}"#, .slots(PageRequest())),
    (#"{"cmd":"stats"}"#, .stats), (#"{"cmd":"origins","cursor":"9"}"#, .origins(PageRequest(cursor: "9"))),
    (#"{"cmd":"clients","limit":3}"#, .clients(PageRequest(limit: 3))),
    (#"{"cmd":"failures"}"#, .failures(PageRequest())),
    (#"{"cmd":"fleet","limit":2}"#, .fleet(PageRequest(limit: 2))),
    (#"{"cmd":"entries","url":"u","contains":"c"}"#, .entries(EntriesRequest(url: "u", part: "c"))),
    (#"{"cmd":"hello"}"#, .hello), (#"{"cmd":"ping"}"#, .ping),
    (#"{"cmd":"config"}"#, .config), (#"{"cmd":"reload"}"#, .reload),
    (#"{"cmd":"put","url":"u"}"#, .put(PutRequest(url: "u"))),
    (#"{"cmd":"query","url":"u"}"#, .query(QueryRequest(url: "u"))),
    (#"{"cmd":"query","url":"u","describe":true}"#, .query(QueryRequest(url: "u", describe: true))),
    (
      #"{"identifier":"i","url":"u","cmd":"query"}"#,
      .query(QueryRequest(url: "u", identifier: "i"))
    ),
    (#"{"cmd":"purge"}"#, .purge(PurgeRequest())),
    (#"{"cmd":"entries"}"#, .entries(EntriesRequest())),
    (#"{"cmd":"subscribe"}"#, .subscribe(.all)),
    (#"{"cmd":"subscribe","events":["jobs"]}"#, .subscribe(.jobs)),
    (
      #"{"cmd":"subscribe","events":["cache","pressure","config","cache"]}"#,
      .subscribe([.cache, .pressure, .config])
    ),
  ]

  @Test(arguments: commands)
  func `a request line is read as its command`(line: String, expected: Request) {
    #expect(request(line) == expected)
    #expect(request(" \t" + line + "\r ") == expected)
  }

  @Test func `a request line can name every command`() {
    let asked = Set(Self.commands.map(\.1.command))
    #expect(asked == Set(Request.Command.allCases))
  }

  @Test func `every field of every command has a place`() {
    let known = Request.Command.allCases.reduce(FieldSet.frame) { $0.union($1.fields) }
    #expect(known.fields == RequestField.allCases)
    for field in RequestField.allCases {
      var fields = RequestFields()
      #expect(throws: Never.self) { try fields.scan(Array("{\"\(field.name)\":0}".utf8).span) }
      #expect(fields.present == FieldSet(field) && fields.unknownName == nil)
    }
  }

  @Test func `a request line may have escapes in names and values`() {
    let line =
      #"{"c\u006dd":"f\u0065tch","\u0075rl":"\u0061\/b","deliver":"\u0066d","x\u005fy":[]}"#
    guard case .fetch(let fetch) = request(line) else { return }
    #expect(fetch.url == "a/b" && fetch.delivery == .fd)
  }

  @Test func `a purge takes every filter`() {
    let line = """
      {"cmd":"purge","tier":"disk","url":"u","identifier":"","prefix":"http://p","host":"h","tag":"t",\
      "older_than":0,"unused_for":315360000,"expired":true,"soft":true}
      """
    guard case .purge(let purge) = request(line) else { return }
    #expect(purge.tier == .disk && purge.url == "u" && purge.identifier == "")
    #expect(purge.prefix == "http://p" && purge.host == "h" && purge.tag == "t")
    #expect(purge.olderThan == 0 && purge.unusedFor == 315_360_000)
    #expect(purge.expired && purge.soft)
    #expect(PurgeRequest().tier == .all && !PurgeRequest().expired && !PurgeRequest().soft)
  }

  @Test func `an entries request takes a page`() {
    let line = #"{"cmd":"entries","tier":"disk","limit":1e3,"cursor":"c","prefix":"p"}"#
    guard case .entries(let entries) = request(line) else { return }
    #expect(entries.tier == .disk && entries.page.limit == 1000)
    #expect(entries.page.cursor == "c" && entries.prefix == "p")
    #expect(EntriesRequest().page.limit == 100 && EntriesRequest().tier == .memory)
  }

  static let ids: [(String, RequestID)] = [
    ("0", .integer(0)), ("-7", .integer(-7)), ("9223372036854775807", .integer(.max)),
    ("-9223372036854775808", .integer(.min)), ("1.0", .integer(1)), ("1e3", .integer(1000)),
    (#""""#, .string("")), (#""é\n""#, .string("é\n")),
    (#""\u0000""#, .string("\0")), (#""a\u0000b""#, .string("a\0b")),
    (letters(64), .string(String(repeating: "x", count: 64))),
  ]

  @Test(arguments: ids)
  func `a request line has its id echoed, also when it is refused`(text: String, id: RequestID) {
    for line in [
      #"{"cmd":"ping","id":\#(text)}"#, #"{"id":\#(text),"cmd":"nothing"}"#, #"{"id":\#(text)}"#,
      #"{"id":\#(text),"cmd":"ping","what":1}"#, #"{"id":\#(text),"cmd":"fetch","url":1}"#,
      #"{"id":\#(text),"cmd":"#, #"{"id":\#(text),"id":1}"#, #"{"id":\#(text)} x"#,
    ] {
      #expect(RequestParser.parse(Array(line.utf8).span).id == id, "\(line)")
    }
  }

  @Test(arguments: [
    "null", "true", "[]", "{}", "1.5", "1e19", "9223372036854775808", letters(65),
    "\"" + String(repeating: "é", count: 33) + "\"",
  ])
  func `an id of another type is refused`(text: String) {
    let parsed = RequestParser.parse(Array(#"{"cmd":"ping","id":\#(text)}"#.utf8).span)
    guard case .refused(let error) = parsed.outcome else {
      Issue.record("accepted")
      return
    }
    #expect(error.code == .badRequest && error.details == [.init("field", "id")])
    #expect(parsed.id == .none)
  }

  static let withNUL: [(field: String, line: String)] = [
    ("url", #"{"cmd":"fetch","url":"http://h/a\u0000.png"}"#),
    ("url", #"{"cmd":"fetch","url":"http://h/a\u0000.png","identifier":"i"}"#),
    ("url", #"{"cmd":"query","url":"\u0000"}"#), ("url", #"{"cmd":"purge","url":"u\u0000"}"#),
    ("identifier", #"{"cmd":"fetch","url":"u","identifier":"\u0000"}"#),
    ("identifier", #"{"cmd":"query","url":"u","identifier":"a\u0000"}"#),
    ("tags", #"{"cmd":"fetch","url":"u","tags":["a","b\u0000"]}"#),
    ("headers", #"{"cmd":"fetch","url":"u","headers":{"X-A":"\u0000"}}"#),
    ("headers", #"{"cmd":"fetch","url":"u","headers":{"X\u0000":"a"}}"#),
    ("slot", #"{"cmd":"fetch","url":"u","slot":"s\u0000"}"#),
    ("slot", #"{"cmd":"cancel","slot":"\u0000"}"#), ("tag", #"{"cmd":"cancel","tag":"\u0000"}"#),
    ("receipt", #"{"cmd":"fetch","url":"u","receipt":"\u0000"}"#),
    ("receipt", #"{"cmd":"wait","receipt":"\#(uuid)\u0000"}"#),
    ("prefix", #"{"cmd":"purge","prefix":"http://h/\u0000"}"#),
    ("host", #"{"cmd":"purge","host":"h\u0000"}"#), ("tag", #"{"cmd":"purge","tag":"t\u0000"}"#),
    ("prefix", #"{"cmd":"entries","prefix":"\u0000"}"#),
    ("cursor", #"{"cmd":"entries","cursor":"\u0000"}"#),
    ("tier", #"{"cmd":"purge","tier":"disk\u0000"}"#),
    ("deliver", #"{"cmd":"fetch","url":"u","deliver":"fd\u0000"}"#),
    ("cache", #"{"cmd":"fetch","url":"u","cache":"\u0000"}"#),
    ("resize", #"{"cmd":"fetch","url":"u","resize":{"width":1,"fit":"\u0000"}}"#),
    ("wait", #"{"cmd":"fetch","url":"u","wait":"\u0000"}"#),
    ("events", #"{"cmd":"subscribe","events":["jobs\u0000"]}"#),
  ]

  @Test(arguments: withNUL)
  func `a field that cannot hold a NUL refuses it by its name`(field: String, line: String) {
    let framed = #"{"id":"\u0000","# + line.dropFirst()
    let parsed = RequestParser.parse(Array(framed.utf8).span)
    guard case .refused(let error) = parsed.outcome else {
      Issue.record("accepted: \(line)")
      return
    }
    #expect(error.code == .badRequest && error.details == [.init("field", .string(field))])
    #expect(parsed.id == .string("\0"))
  }

  @Test func `a field that is ignored may hold a NUL`() {
    #expect(request(#"{"cmd":"ping","x_\u0000":"\u0000"}"#) == .ping)
  }

  static let refused: [(String, ReplyCode, String)] = [
    ("", .badJSON, "byte 0"), ("{", .badJSON, "a key"), ("fetch", .badJSON, "{\"cmd\":\"fetch\""),
    (#"{"cmd":"ping"} {}"#, .badJSON, "byte 15"), (#"{"cmd":"ping",}"#, .badJSON, "a key"),
    (#"{"cmd":"ping","cmd":"ping"}"#, .badJSON, "byte 14"),
    (#"{"cmd":"ping","c\u006dd":"ping"}"#, .badJSON, "byte 14"),
    (#"{"cmd":"ping","x_a":1,"x_a":2}"#, .badJSON, "does not have yet"),
    (#"{"cmd":"ping","x_a":{"b":1,"b":2}}"#, .badJSON, "does not have yet"),
    ("{\"cmd\":\"ping\",\"x_a\":\"\u{0}\"}", .badJSON, "control characters written as escapes"),
    (#"{"cmd":"ping","\u0000":1}"#, .unknownField, "has no field \"\0\""),
    (#"{"cmd":"ping","\u0000":1,"\u0000":1}"#, .badJSON, "does not have yet"),
    (#"{"cmd":"ping\u0000"}"#, .unknownCommand, #""ping\u0000""#),
    ("[]", .badRequest, "JSON object"), ("7", .badRequest, "7"), ("null", .badRequest, "null"),
    ("\"fetch\"", .badRequest, "\"fetch\""),
    ("{}", .badRequest, "\"cmd\""), (#"{"url":"u"}"#, .badRequest, "\"cmd\""),
    (#"{"cmd":1}"#, .badRequest, "\"cmd\" was 1"), (#"{"cmd":null}"#, .badRequest, "null"),
    (#"{"cmd":["ping"]}"#, .badRequest, #"["ping"]"#),
    (#"{"cmd":"fetsh"}"#, .unknownCommand, "\"fetsh\""),
    (#"{"cmd":"fetsh"}"#, .unknownCommand, "did you mean \"fetch\"?"),
    (#"{"cmd":""}"#, .unknownCommand, "\"\""), (#"{"cmd":"Fetch"}"#, .unknownCommand, "\"Fetch\""),
    (#"{"cmd":"a name beyond sixteen bytes"}"#, .unknownCommand, "beyond"),
    (#"{"cmd":"ping","url":"u"}"#, .unknownField, "\"url\""),
    (#"{"cmd":"ping","url":"u"}"#, .unknownField, "it has cmd, id"),
    (#"{"cmd":"fetch","url":"u","ulr":"u"}"#, .unknownField, "\"ulr\""),
    (#"{"cmd":"fetch","url":"u","Url":"u"}"#, .unknownField, "\"Url\""),
    (#"{"cmd":"fetch","url":"u","tag":"u"}"#, .unknownField, "tags"),
    (#"{"cmd":"fetch","url":1,"x":1}"#, .unknownField, "\"x\""),
    (#"{"cmd":"fetch"}"#, .badRequest, "\"url\""), (#"{"cmd":"query"}"#, .badRequest, "\"url\""),
    (#"{"cmd":"wait"}"#, .badRequest, "\"receipt\""),
    (#"{"cmd":"wait","receipt":"\#(uuid)","deliver":"air"}"#, .badRequest, "\"air\""),
    (#"{"cmd":"cancel"}"#, .badRequest, "exactly one"),
    (#"{"cmd":"cancel","slot":"a","tag":"b"}"#, .badRequest, "exactly one"),
    (#"{"cmd":"cancel","all":false}"#, .badRequest, "takes true"),
    (#"{"cmd":"cancel","all":1}"#, .badRequest, "\"all\" was 1"),
    (#"{"cmd":"cancel","receipt":"x"}"#, .badRequest, "a UUID"),
    (#"{"cmd":"cancel","tag":""}"#, .badRequest, "\"tag\""),
    (#"{"cmd":"purge","tier":"tape"}"#, .badRequest, "\"all\", \"memory\" or \"disk\""),
    (#"{"cmd":"purge","older_than":-1}"#, .badRequest, "\"older_than\" was -1"),
    (#"{"cmd":"purge","unused_for":1.5}"#, .badRequest, "was 1.5"),
    (#"{"cmd":"purge","host":\#(letters(256))}"#, .badRequest, "\"host\""),
    (#"{"cmd":"purge","url":""}"#, .badURL, "\"url\""),
    (#"{"cmd":"entries","tier":"all"}"#, .badRequest, "\"all\""),
    (#"{"cmd":"entries","limit":0}"#, .badRequest, "from 1 to 1000"),
    (#"{"cmd":"entries","limit":1001}"#, .badRequest, "1001"),
    (#"{"cmd":"entries","limit":1e30}"#, .badRequest, "1e30"),
    (#"{"cmd":"entries","limit":"5"}"#, .badRequest, "\"5\""),
    (#"{"cmd":"entries","cursor":""}"#, .badRequest, "\"cursor\""),
    (#"{"cmd":"subscribe","events":true}"#, .badRequest, "\"jobs\""),
    (#"{"cmd":"subscribe","events":["job"]}"#, .badRequest, #"did you mean "jobs"?"#),
    (#"{"cmd":"subscribe","events":[1]}"#, .badRequest, #""events[0]" was 1"#),
  ]

  @Test(arguments: refused)
  func `a wrong request line is refused with its fault`(line: String, code: ReplyCode, part: String)
    throws
  {
    let error = try #require(refusal(line))
    #expect(error.code == code && error.message.contains(part), "\(error)")
  }

  @Test func `fields that begin with x_ are ignored, with any type and at any place`() {
    for value in ["1", "null", "\"a\"", "[1,{}]", #"{"cmd":"list","y":{}}"#] {
      #expect(request(#"{"x_":\#(value),"cmd":"ping","x_other":\#(value)}"#) == .ping)
      #expect(fetch(#""x_a":\#(value)"#) == FetchRequest(url: "u"))
    }
  }

  @Test func `a request line may nest sixteen levels, counting the request itself`() {
    func line(_ depth: Int) -> String {
      let brackets = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
      return #"{"cmd":"ping","x_":\#(brackets.0)\#(brackets.1)}"#
    }
    #expect(request(line(15)) == .ping)
    #expect(refusal(line(16))?.code == .badJSON)
    #expect(refusal(line(16))?.message.contains("16 levels") == true)
  }

  @Test func `a long value in a message is cut between characters`() throws {
    let long = String(repeating: "é", count: 5000)
    for line in [
      #"{"cmd":"\#(long)"}"#, #"{"cmd":"ping","\#(long)":1}"#, #"{"cmd":"ping","id":"x\#(long)"}"#,
      "\"\(long)\"",
    ] {
      let error = try #require(refusal(line))
      #expect(error.message.contains("éé…") && error.message.utf8.count < 400)
      #expect(!error.message.contains("\u{FFFD}"))
    }
  }

  @Test func `the refusal of bad JSON has the offset in its details`() {
    #expect(refusal(#"{"cmd" "ping"}"#)?.details == [.init("offset", 7)])
  }
}
