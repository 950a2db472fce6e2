import ImgdTestSupport
import ImgdWire
import Testing

/// Fields of the wrong name, type or range: refused by name, before anything has happened.
struct FieldTests {
  private let stage: CoreStage

  init() throws { stage = try CoreStage("Disk.Enabled=no") }

  /// The wrong value of a field of `fetch`.
  struct Wrong: Sendable, CustomTestStringConvertible {
    let field: String
    let values: [String]
    var testDescription: String { field }
  }

  private static let long = "\"" + String(repeating: "x", count: 300) + "\""

  @Test(arguments: [
    Wrong(field: "url", values: ["7", "null", "[]", "true", "{}"]),
    Wrong(field: "identifier", values: ["7", "null", long]),
    Wrong(field: "receipt", values: ["7", "\"\"", "\"5D0C9B7E\"", long]),
    Wrong(field: "cache", values: ["7", "\"\"", "\"Default\"", "\"none\""]),
    Wrong(field: "deliver", values: ["true", "\"file\"", "[\"fd\"]"]),
    Wrong(field: "store", values: ["true", "\"both\""]),
    Wrong(
      field: "resize",
      values: [
        "7", "{}", #"{"width":0}"#, #"{"width":-1,"height":4}"#, #"{"width":1.5,"height":4}"#,
        #"{"width":4,"fit":"cover"}"#, #"{"width":"4","height":4}"#,
        #"{"width":4,"height":4,"fit":"stretch"}"#, #"{"width":4,"height":4,"enlarge":1}"#,
        #"{"width":100000,"height":4}"#, #"{"width":4,"fit":"pad"}"#, #"{"width":4,"crop":{"x":0,"y":0}}"#,
        #"{"width":4,"height":4,"fit":"cover","crop":{"x":0.5}}"#,
        #"{"width":4,"height":4,"fit":"cover","crop":{"x":0.5,"y":1.5}}"#,
        #"{"width":4,"height":4,"fit":"cover","crop":{"x":0.5,"y":"1"}}"#,
        #"{"width":4,"height":4,"fit":"cover","crop":[0.5,0.5]}"#, #"{"area":{}}"#, #"{"area":[0,0,1,1]}"#,
        #"{"area":{"x":0,"y":0,"width":0,"height":1}}"#, #"{"area":{"x":-1,"y":0,"width":1,"height":1}}"#,
        #"{"area":{"x":0.5,"y":0,"width":0.6,"height":1}}"#, #"{"area":{"x":0,"y":0,"width":1e9,"height":1}}"#,
        #"{"width":4,"background":"white"}"#, #"{"width":4,"background":7}"#,
      ]),
    Wrong(field: "format", values: ["\"gjf\"", "\"heic\"", "null", "1", "[]", "[1]", "[\"webp\",\"webp\"]"]),
    Wrong(field: "priority", values: ["1", "\"urgent\"", "null"]),
    Wrong(field: "slot", values: ["7", "\"\"", long]),
    Wrong(
      field: "headers",
      values: [
        "7", "[]", #"{"a":7}"#, #"{"a b":"c"}"#, #"{"":"c"}"#, #"{"a":"b\r\nc: d"}"#,
        #"{"Host":"x"}"#, #"{"content-length":"7"}"#, #"{"Range":"bytes=0-"}"#,
        #"{"Connection":"close"}"#, #"{"Transfer-Encoding":"chunked"}"#, #"{"A":"1","a":"2"}"#,
      ]),
    Wrong(field: "progress", values: ["1", "\"true\"", "null"]),
    Wrong(field: "events", values: ["1", "\"jobs\""]),
    Wrong(field: "wait", values: ["0", "null"]),
    Wrong(field: "detach", values: ["0", "\"yes\""]),
    Wrong(
      field: "timeout_ms",
      values: ["0", "-1", "1.5", "\"100\"", "99999999999999999999", "null"]),
    Wrong(field: "max_bytes", values: ["0", "-1", "\"1M\"", "99999999999999999999"]),
    Wrong(
      field: "tags",
      values: [
        "\"a\"", "{}", "[7]", "[\"\"]", "[\(long)]",
        "[" + (0..<17).map { "\"t\($0)\"" }.joined(separator: ",") + "]",
      ]),
    Wrong(field: "ttl", values: ["-1", "1.5", "\"60\"", "99999999999999999999"]),
    Wrong(field: "http", values: ["1", "\"true\"", "{}"]),
  ])
  func `a wrong field of fetch is refused by its name`(_ wrong: Wrong) throws {
    let url = wrong.field == "url" ? "" : #","url":"\#(stage.base)/never""#
    for value in wrong.values {
      let answer = try stage.client.ask(
        #"{"cmd":"fetch","id":"f"\#(url),"\#(wrong.field)":\#(value)}"#)
      #expect(answer["ok"]?.bool == false, "\(value)")
      #expect(answer["id"]?.string == "f")
      #expect(answer.failureCode == "bad_request", "\(value): \(answer.failureMessage)")
      // A mistake inside an object is named by its own field.
      let field = try #require(answer.failureField)
      #expect(field == wrong.field || value.contains("\"\(field)\""), "\(value)")
      #expect(answer.failureMessage.contains(field))
    }
    #expect(stage.origin.requests.isEmpty)
  }

  @Test(arguments: [
    (#"{"cmd":"cancel"}"#, "bad_request"),
    (#"{"cmd":"cancel","receipt":"x"}"#, "bad_request"),
    (#"{"cmd":"cancel","receipt":7}"#, "bad_request"),
    (#"{"cmd":"cancel","slot":""}"#, "bad_request"),
    (#"{"cmd":"cancel","tag":7}"#, "bad_request"),
    (#"{"cmd":"cancel","all":false}"#, "bad_request"),
    (#"{"cmd":"cancel","all":1}"#, "bad_request"),
    (#"{"cmd":"cancel","all":true,"tag":"a"}"#, "bad_request"),
    (#"{"cmd":"cancel","url":"http://a/"}"#, "unknown_field"),
    (#"{"cmd":"wait"}"#, "bad_request"),
    (#"{"cmd":"wait","receipt":"nope"}"#, "bad_request"),
    (#"{"cmd":"wait","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#, "unknown_receipt"),
    (
      #"{"cmd":"wait","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11","deliver":"x"}"#,
      "bad_request"
    ),
    (#"{"cmd":"wait","timeout_ms":1}"#, "unknown_field"),
    (#"{"cmd":"purge","tier":"ram"}"#, "bad_request"),
    (#"{"cmd":"purge","url":7}"#, "bad_request"),
    (#"{"cmd":"purge","url":"not a url"}"#, "bad_url"),
    (#"{"cmd":"purge","identifier":7}"#, "bad_request"),
    (#"{"cmd":"purge","prefix":""}"#, "bad_request"),
    (#"{"cmd":"purge","host":""}"#, "bad_request"),
    (#"{"cmd":"purge","tag":[]}"#, "bad_request"),
    (#"{"cmd":"purge","older_than":-1}"#, "bad_request"),
    (#"{"cmd":"purge","older_than":"7d"}"#, "bad_request"),
    (#"{"cmd":"purge","unused_for":1.5}"#, "bad_request"),
    (#"{"cmd":"purge","expired":1}"#, "bad_request"),
    (#"{"cmd":"purge","soft":"yes"}"#, "bad_request"),
    (#"{"cmd":"purge","hosts":"a"}"#, "unknown_field"),
    (#"{"cmd":"query"}"#, "bad_request"),
    (#"{"cmd":"query","url":null}"#, "bad_request"),
    (#"{"cmd":"query","url":"ftp://a/"}"#, "blocked_scheme"),
    (#"{"cmd":"query","url":"http://a/","identifier":7}"#, "bad_request"),
    (#"{"cmd":"query","url":"http://a/","tier":"all"}"#, "unknown_field"),
    (#"{"cmd":"entries","tier":7}"#, "bad_request"),
    (#"{"cmd":"entries","limit":0}"#, "bad_request"),
    (#"{"cmd":"entries","limit":1001}"#, "bad_request"),
    (#"{"cmd":"entries","limit":"9"}"#, "bad_request"),
    (#"{"cmd":"entries","cursor":7}"#, "bad_request"),
    (#"{"cmd":"entries","cursor":"nonsense"}"#, "bad_request"),
    (#"{"cmd":"entries","prefix":7}"#, "bad_request"),
    (#"{"cmd":"entries","offset":7}"#, "unknown_field"),
    (#"{"cmd":"subscribe","events":[]}"#, "bad_request"),
    (#"{"cmd":"subscribe","events":"jobs"}"#, "bad_request"),
    (#"{"cmd":"subscribe","events":["job"]}"#, "bad_request"),
    (#"{"cmd":"subscribe","events":[7]}"#, "bad_request"),
    (#"{"cmd":"subscribe","topics":["jobs"]}"#, "unknown_field"),
    (#"{"cmd":"hello","a":1}"#, "unknown_field"),
    (#"{"cmd":"config","a":1}"#, "unknown_field"),
    (#"{"cmd":"reload","a":1}"#, "unknown_field"),
    (#"{"cmd":"list","a":1}"#, "unknown_field"),
    (#"{"cmd":"slots","a":1}"#, "unknown_field"),
  ])
  func `a wrong field of another command is refused`(line: String, code: String) throws {
    let answer = try stage.client.ask(line)
    #expect(answer["ok"]?.bool == false)
    #expect(answer.failureCode == code, "\(answer.failureMessage)")
  }

  @Test func `an unknown field is refused before the origin is asked`() throws {
    let url = stage.origin.url("/unknown-field")
    for field in ["Url", "urls", "timeout", "X_a", "x"] {
      let answer = try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)","\#(field)":1}"#)
      #expect(answer.failureCode == "unknown_field")
      #expect(answer.failureField == field)
    }
    #expect(stage.origin.requests.isEmpty)
  }

  @Test(arguments: [
    ("", "bad_url"),
    ("example.org/a.png", "bad_url"),
    ("http://", "bad_url"),
    ("http://user@127.0.0.1/a.png", "bad_url"),
    ("http://user:pw@127.0.0.1/a.png", "bad_url"),
    ("http://127.0.0.1:99999/a.png", "bad_url"),
    ("http://127.0.0.1:x/a.png", "bad_url"),
    ("http://127.0.0.1/a\\nb", "bad_url"),
    ("http://127.0.0.1/\\u0001", "bad_url"),
    ("http://127.0.0.1/a\\u007f", "bad_url"),
    ("http://[::1/a.png", "bad_url"),
    ("file:///etc/passwd", "blocked_scheme"),
    ("ftp://127.0.0.1/a.png", "blocked_scheme"),
    ("gopher://127.0.0.1/a", "blocked_scheme"),
    ("data:image/png;base64,AAAA", "blocked_scheme"),
    ("javascript:alert(1)", "blocked_scheme"),
    ("http://127.0.0.1/" + String(repeating: "a", count: 8_192), "bad_url"),
  ])
  func `a URL that cannot be fetched is refused`(url: String, code: String) throws {
    let answer = try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)","id":1}"#)
    #expect(answer["id"]?.integer == 1)
    #expect(answer.failureCode == code, "\(answer.failureMessage)")
    #expect(answer["error"]?["retryable"]?.bool == false)
  }
}
