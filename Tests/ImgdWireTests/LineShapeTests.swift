import ImgdTestSupport
import Testing

@testable import ImgdWire

struct LineShapeTests {
  private static let url = "http://host.test/pictures/a.png"

  private static let forms: [@Sendable (String) -> String] = [
    { #"{"id":\#($0),"cmd":"fetch","url":"URL"}"# },
    { #"{"cmd":"fetch","url":"URL","id":\#($0)}"# },
    { #"{"url":"URL","id":\#($0),"cmd":"fetch"}"# },
    { #"{"deliver":"none","id":\#($0),"url":"URL","cmd":"fetch","x_a":[1,{"id":2}]}"# },
    { #" { "cmd" : "fetch" , "url" : "URL" , "id" : \#($0) } "# },
    { #"{"\u0069d":\#($0),"cmd":"f\u0065tch","url":"URL","cache":"force-cache"}"# },
    { #"{"x_url":"id","cmd":"fetch","url":"URL","x_id":1,"id":\#($0),"priority":"high"}"# },
    { #"{"id":\#($0),"receipt":"RECEIPT","cmd":"fetch","url":"URL","deliver":"fd"}"# },
    { #"{"cmd":"fetch","url":"URL","timeout_ms":30000,"receipt":"RECEIPT","id":\#($0)}"# },
    { #"{"receipt":"RECEIPT","url":"URL","cmd":"fetch","id":\#($0)}"# },
    { #"{"cmd":"fetch","id":\#($0),"url":"URL","receipt":"RECEIPT"}"# },
    { #"{"cmd":"fetch","id":\#($0),"url":"URL","headers":{"If-None-Match":"\"a-1\""}}"# },
    { #"{"headers":{"if-none-match" : "W/\"7\"" },"receipt":"RECEIPT","id":\#($0),"cmd":"fetch","url":"URL"}"# },
  ]
  private static let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"

  private static let ids = [
    "0", "7", "-1", "123456", "999999999999999999", "-999999999999999999", #""""#, #""a""#,
    #""request 17~""#, "\"" + String(repeating: "x", count: 64) + "\"",
  ]

  private func bytes(
    _ line: String, _ url: String = url, receipt: String = receipt
  ) -> [UInt8] {
    Array(line.replacing("URL", with: url).replacing("RECEIPT", with: receipt).utf8)
  }

  private func learn(_ line: [UInt8]) -> LineShape? { LineShape(line.span) }

  private func fit(_ line: [UInt8], _ shape: LineShape) -> LineShape.Parts? {
    shape.parts(of: line.span)
  }

  /// The id as it is echoed, and the request.
  private func parsed(_ line: [UInt8]) -> (id: [UInt8], request: FetchRequest)? {
    let parsed = RequestParser.parse(line.span)
    guard case .request(.fetch(let request)) = parsed.outcome else { return nil }
    var writer = JSONWriter()
    if case .integer(let id) = parsed.id { writer.bytes.appendInteger(id) }
    if case .string(let id) = parsed.id { writer.bytes.appendString(id) }
    return (writer.bytes, request)
  }

  /// A line that fits a shape must be what the parser makes of it.
  private func expectSame(_ line: [UInt8], as known: FetchRequest, _ parts: LineShape.Parts) {
    var request = known
    request.url = String(decoding: line[parts.url], as: UTF8.self)
    request.extras.receipt = parts.receipt
    if let header = request.headers.first {
      let tag = String(decoding: line[parts.tag], as: UTF8.self)
      let start = header.value.hasPrefix("W/") ? "W/" : ""
      request.extras.headers = [RequestHeader(name: header.name, value: start + "\"\(tag)\"")]
    }
    guard let wanted = parsed(line) else {
      Issue.record("no fetch: \(String(decoding: line, as: UTF8.self))")
      return
    }
    #expect(wanted.request == request && wanted.id == Array(line[parts.id]))
  }

  @Test(arguments: forms.indices, ids)
  func `a line that is known fits with any other id and URL`(form: Int, known: String) throws {
    let learnt = bytes(Self.forms[form](known))
    let shape = try #require(learn(learnt))
    let request = try #require(parsed(learnt)?.request)
    for id in Self.ids {
      for url in [Self.url, "u", "1234567", "12345678", "http://[::1]/?a=%20&b={}'#"] {
        let line = bytes(Self.forms[form](id), url)
        let parts = try #require(fit(line, shape), "\(id) \(url)")
        expectSame(line, as: request, parts)
      }
    }
  }

  @Test(arguments: [
    "00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-FfFf-fFfF-ffffffffffff",
    "01234567-89ab-cdef-0123-456789abcdef",
  ])
  func `a line that is known fits with any other receipt`(receipt: String) throws {
    for form in Self.forms where form("").contains("RECEIPT") {
      let learnt = bytes(form("1"))
      let shape = try #require(learn(learnt))
      let line = bytes(form("2"), receipt: receipt)
      let parts = try #require(fit(line, shape))
      #expect(parts.receipt?.description == receipt.lowercased())
      expectSame(line, as: try #require(parsed(learnt)?.request), parts)
    }
  }

  @Test(arguments: [
    "", "5d0c9b7e", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b1", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b111",
    "5d0c9b7e02a43-4b57-9a57-2c2e3c9e1b11", "5d0c9b7g-2a43-4b57-9a57-2c2e3c9e1b11",
    #"\u0035d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"#,
  ])
  func `a receipt that is none, or has an escape, fits no shape`(receipt: String) throws {
    for form in Self.forms where form("").contains("RECEIPT") {
      let shape = try #require(learn(bytes(form("1"))))
      #expect(fit(bytes(form("1"), receipt: receipt), shape) == nil)
      #expect(learn(bytes(form("1"), receipt: receipt)) == nil)
    }
  }

  @Test(arguments: ["a", "33a64df551425fcc55e4d42a148795d9f25f89d4", "x-!#~", String(repeating: "t", count: 128)])
  func `a line that is known fits with any other tag`(tag: String) throws {
    for form in Self.forms where form("").contains("eaders") {
      let learnt = bytes(form("1"))
      let shape = try #require(learn(learnt))
      let line = bytes(form("2").replacing("a-1", with: tag).replacing(#"\"7\""#, with: #"\"\#(tag)\""#))
      let parts = try #require(fit(line, shape))
      #expect(String(decoding: line[parts.tag], as: UTF8.self) == tag)
      expectSame(line, as: try #require(parsed(learnt)?.request), parts)
    }
  }

  @Test(arguments: [
    #"{"If-None-Match":"*"}"#, #"{"If-None-Match":"\"a\", \"b\""}"#, #"{"If-None-Match":"\"\""}"#,
    #"{"If-None-Match":"a"}"#, #"{"If-None-Match":"\"a\\b\""}"#, #"{"If-None-Match":"\"a\" "}"#,
    #"{"If-None-Match":"\"\u0061\""}"#, #"{"If-None-Match":"\"\#(String(repeating: "t", count: 129))\""}"#,
    #"{"If-None-Match":"\"a\"","Accept":"image/png"}"#, #"{"If-Match":"\"a\""}"#, #"{"Accept":"\"a\""}"#,
    #"{"If-Modified-Since":"Sun, 06 Nov 1994 08:49:37 GMT"}"#,
  ])
  func `other headers are of no shape`(headers: String) {
    #expect(learn(bytes(#"{"cmd":"fetch","url":"URL","headers":\#(headers)}"#)) == nil)
  }

  @Test(arguments: [#""format":"webp""#, #""resize":{"width":8}"#, #""deliver":"pixels""#])
  func `a condition is of no shape beside a form`(form: String) {
    let line = #"{"cmd":"fetch","url":"URL",\#(form),"headers":{"If-None-Match":"\"a\""}}"#
    #expect(learn(bytes(line)) == nil)
  }

  @Test func `a line without an id fits with any other URL`() throws {
    let learnt = bytes(#"{"cmd":"fetch","url":"URL"}"#)
    let shape = try #require(learn(learnt))
    let line = bytes(#"{"cmd":"fetch","url":"URL"}"#, "http://other/")
    expectSame(
      line, as: try #require(parsed(learnt)?.request), try #require(fit(line, shape)))
  }

  @Test(arguments: forms.indices)
  func `a line that differs in a byte fits only if it is the same to the parser`(form: Int) throws {
    let line = bytes(Self.forms[form]("12"))
    let shape = try #require(learn(line))
    var fitting = 0
    let request = try #require(parsed(line)?.request)
    for index in line.indices {
      for byte in UInt8.min...UInt8.max {
        var other = line
        other[index] = byte
        guard let parts = fit(other, shape) else { continue }
        fitting += 1
        expectSame(other, as: request, parts)
      }
      for length in [0, 2] {
        var other = line
        other.replaceSubrange(index...index, with: [UInt8](repeating: line[index], count: length))
        if let parts = fit(other, shape) { expectSame(other, as: request, parts) }
      }
      #expect(fit(Array(line[..<index]), shape) == nil)
    }
    #expect(fitting > Self.url.utf8.count * 90)
  }

  @Test(arguments: [
    "1.0", "1e2", "-0", "1234567890123456789", #""a\u0062""#, #""\\""#, "\"\u{7F}\"", "\"é\"",
  ])
  func `an id that is not echoed as it is written fits no shape`(id: String) throws {
    for form in Self.forms {
      #expect(learn(bytes(form(id))) == nil)
      let shape = try #require(learn(bytes(form("1"))))
      #expect(fit(bytes(form(id)), shape) == nil)
    }
  }

  @Test(arguments: ["00", "01", "-", "--1", "1-", "", #"""#, #""a"#, #"a""#])
  func `an id that is none fits no shape`(id: String) throws {
    for form in Self.forms {
      let shape = try #require(learn(bytes(form("1"))))
      #expect(fit(bytes(form(id)), shape) == nil)
    }
  }

  @Test(arguments: [
    #"{"cmd":"ping","id":1}"#, #"{"cmd":"query","url":"u"}"#, #"{"cmd":"fetch","url":"u""#,
    #"{"cmd":"fetch","url":"http:\/\/h"}"#, #"{"cmd":"fetch","url":""}"#, "",
  ])
  func `what is no fetch in usual writing is not learnt`(line: String) {
    #expect(learn(Array(line.utf8)) == nil)
  }

  @Test func `a long shape is not learnt`() {
    for (length, isKnown) in [(400, true), (600, false)] {
      let field = String(repeating: "x", count: length)
      let line = #"{"cmd":"fetch","url":"u","x_a":"\#(field)"}"#
      #expect((learn(Array(line.utf8)) != nil) == isKnown)
    }
  }

  @Test func `shapes are the same that differ in id, URL and receipt alone`() throws {
    let other = "00000000-0000-0000-0000-000000000000"
    let lines = Self.forms.flatMap { form in
      [bytes(form("1")), bytes(form(#""b""#), "http://other/", receipt: other)]
    }
    let shapes = Set(lines.compactMap { learn($0) })
    #expect(shapes.count == Self.forms.count)
  }
}
