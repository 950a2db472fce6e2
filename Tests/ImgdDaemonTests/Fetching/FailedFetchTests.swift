import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// The answers to fetches that fail: what has failed, which URL they are about, and nothing that is secret.
struct FailedFetchTests {
  private let stage: CoreStage

  init() throws { stage = try CoreStage("Disk.Enabled=no") }

  private static let failures: [(TransferFailure.Kind, code: String, isRetryable: Bool)] = [
    (.badURL, "bad_url", false), (.blockedScheme, "blocked_scheme", false),
    (.blockedAddress, "blocked_address", false), (.dns, "dns", true), (.connect, "connect", true),
    // Whoever breaks the rules of HTTP will break them again.
    (.badAnswer, "connect", false), (.tls, "tls", false), (.tooLarge, "too_large", false),
    (.emptyBody, "empty_body", false), (.truncated, "truncated", true),
    (.unavailable, "unavailable", false), (.internal, "internal", false),
  ]

  @Test(arguments: failures)
  func `each failure of a transfer has its code, and says whether it is worth another try`(
    kind: TransferFailure.Kind, code: String, isRetryable: Bool
  ) throws {
    stage.origin.plan("/a", .fails(kind))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":false,"error":{"code":"\#(code)","message":"the plan says so","retryable":\#(isRetryable)}}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test(arguments: [
    #""url":"ORIGIN/missing""#, #""url":"ORIGIN/a@2x.jpg","cache":"only-if-cached""#,
    #""url":"ftp://h/a""#, #""url":"HTTP://H/a","priority":"urgent""#, #""url":"hihg""#,
    #""url":"ORIGIN/a","receipt":"x""#, #""url":"ORIGIN/a","colour":1"#,
  ])
  func `an error has the URL as the request spelt it`(fields: String) throws {
    let fields = fields.split(separator: "ORIGIN", omittingEmptySubsequences: false)
      .joined(separator: stage.base)
    let answer = try stage.client.ask(#"{"cmd":"fetch",\#(fields)}"#)
    #expect(answer["ok"]?.bool == false)
    let request = try JSONValue(parsing: "{\(fields)}")
    #expect(answer["url"] == request["url"])
  }

  @Test func `an outcome that is collected has it, too`() throws {
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/missing","wait":false,"receipt":"\#(receipt)"}
      < {"id":1,"ok":true,"url":"ORIGIN/missing"}
      > {"cmd":"wait","id":2,"receipt":"\#(receipt)"}
      < {"id":2,"ok":false,"url":"ORIGIN/missing","error":{"code":"http_status"}}
      """#)
  }

  @Test func `a receipt that is in use is refused with the URL of the request`() throws {
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(receipt)"}"#)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/b","receipt":"\#(receipt)"}
      < {"id":2,"ok":false,"url":"ORIGIN/b","error":{"code":"duplicate_receipt"}}
      """#)
  }

  @Test func `other commands have none`() throws {
    #expect(try stage.client.ask(#"{"cmd":"query","url":"ftp://h/"}"#)["url"] == nil)
    #expect(try stage.client.ask(#"{"cmd":"query","url":"ftp://h/","a":1}"#)["url"] == nil)
  }

  @Test(arguments: [
    #""url":"http://me:secret@h/a""#, #""url":"me:secret@h/a""#, #""url":"http:/me:secret@h/a""#,
    #""url":"http://me:secret@/a""#, #""url":"http://me:secret@h/a","wait":0"#,
    #""url":"http://me:se/cret@h/a""#, #""url":"ftp://me:secret@h/a","slot":"s""#,
  ])
  func `no answer repeats a password`(fields: String) throws {
    for command in ["fetch", "query", "purge"] {
      try stage.client.send(#"{"cmd":"\#(command)",\#(fields)}"#)
      let said = String(decoding: try stage.client.receiveLine(), as: UTF8.self)
      #expect(said.contains(#""ok":false"#))
      #expect(!said.contains("cret"), "\(said)")
    }
  }
}
