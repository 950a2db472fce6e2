import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

struct FetchAnswerTests {
  @Test func `a picture comes from the network first and then from memory`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png(3_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png"}
      < {"id":1,"ok":true,"receipt":"…","url":"ORIGIN/a.png","source":"network","coalesced":false,"format":"png","type":"image/png","width":16,"height":16,"frames":1,"bytes":3000,"age":"…","fresh_for":"…","elapsed_ms":"…"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png"}
      < {"id":2,"ok":true,"receipt":"…","url":"ORIGIN/a.png","source":"memory","coalesced":false,"format":"png","type":"image/png","width":16,"height":16,"frames":1,"bytes":3000}
      """#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `two simultaneous requests for pictures are both answered`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    stage.origin.plan("/b.jpg", .picture(jpeg(), type: "image/jpeg"))
    try stage.client.send(
      #"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a.png"}"#,
      #"{"cmd":"fetch","id":2,"url":"\#(stage.base)/b.jpg"}"#)
    let formats = try stage.client.receive(2).map { $0["format"]?.string ?? "" }
    #expect(Set(formats) == ["png", "jpeg"])
  }

  static let badURLs = [
    ("   ", "bad_url"), ("http://", "bad_url"), ("not a url", "bad_url"),
    ("http:///a.png", "bad_url"), ("http://h:99999/a.png", "bad_url"),
    ("http://u@h/a.png", "bad_url"), ("http://h/\\u0001", "bad_url"), ("/a.png", "bad_url"),
    ("file:///etc/passwd", "blocked_scheme"), ("ftp://h/a.png", "blocked_scheme"),
    ("data:image/png;base64,AA==", "blocked_scheme"),
  ]

  @Test(arguments: badURLs)
  func `a URL that cannot be fetched is refused, with its receipt`(
    url: String, code: String
  ) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"\#(url)","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}
      < {"id":1,"ok":false,"receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11","error":{"code":"\#(code)"}}
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      """#)
  }

  @Test func `a URL that is too long is refused`() throws {
    let stage = try CoreStage()
    let long = String(repeating: "a", count: 8_193)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"http://h/\#(long)"}
      < {"id":1,"ok":false,"error":{"code":"bad_url"}}
      """#)
  }

  static let statuses = [
    (404, false), (403, false), (410, false), (500, true), (503, true), (429, true), (408, true),
  ]

  @Test(arguments: statuses)
  func `an error of the origin is reported with its status`(status: Int, isRetryable: Bool) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .status(status, headers: [("X-Why", "because")], body: png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","http":true}
      < {"ok":false,"receipt":"…","error":{"code":"http_status","message":"…","retryable":\#(isRetryable),"details":{"status":\#(status)}},"http":{"status":\#(status),"headers":{"x-why":"because"}}}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  static let impostors: [(String, OriginAnswer, String)] = [
    ("HTML", .picture(Array("<!doctype html><p>no".utf8), type: "text/html"), "not_an_image"),
    ("HTML called a picture", .picture(Array("<html><p>no".utf8)), "not_an_image"),
    ("JSON", .picture(Array(#"{"error":"no"}"#.utf8), type: "application/json"), "not_an_image"),
    ("text without a type", .body(Array("sorry".utf8)), "not_an_image"),
    ("zeros", .picture([UInt8](repeating: 0, count: 5_000)), "not_an_image"),
    ("random bytes", .picture(Noise.some(500)), "not_an_image"),
    ("one byte", .picture([0x89]), "not_an_image"),
    ("nothing", .picture([]), "empty_body"),
    ("204", .status(204), "empty_body"),
    ("half a body", .fails(.truncated), "truncated"),
  ]

  @Test(arguments: impostors)
  func `a body that is not a picture is refused and not kept`(
    name: String, answer: OriginAnswer, code: String
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", answer)
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":false,"receipt":"…","error":{"code":"\#(code)"}}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"none"}
      """#)
    #expect(try stage.stats("downloads", "failed") == 1)
  }

  @Test(arguments: ["text/plain", "text/html", "application/octet-stream", "image/jpeg"])
  func `a picture has the type of its bytes, whatever its origin calls it`(type: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), type: type))
    let line = try stage.fetch("/a")
    #expect(line["format"]?.string == "png" && line["type"]?.string == "image/png")
  }

  @Test func `the field http shows status and headers, from memory as well`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a.png",
      .picture(png(), headers: [("X-A", "1"), ("X-A", "2"), ("Connection", "keep-alive")]))
    let lines = try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","http":true}
      < {"ok":true,"source":"network","http":{"status":200,"headers":{"x-a":"1, 2","content-type":"image/png"}}}
      > {"cmd":"fetch","url":"ORIGIN/a.png","http":true}
      < {"ok":true,"source":"memory","http":{"status":200,"headers":{"x-a":"1, 2","content-type":"image/png"}}}
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true}
      """#)
    #expect(lines[0]["http"]?["headers"]?["connection"] == nil)
    #expect(lines[2]["http"] == nil)
  }

  @Test func `identifiers have entries of their own`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/ab", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","identifier":"bc"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/ab","identifier":"c"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      > {"cmd":"query","url":"ORIGIN/a","identifier":"other"}
      < {"ok":true,"tier":"none"}
      > {"cmd":"fetch","url":"ORIGIN/a","identifier":"bc"}
      < {"ok":true,"source":"memory"}
      """#)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a fragment is not part of the fetched URL`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png#top"}
      < {"ok":true,"url":"ORIGIN/a.png#top","source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true,"source":"memory"}
      """#)
  }

  @Test func `the ttl of a request sets the lifetime of its picture`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png(), headers: [("Cache-Control", "max-age=10")]))
    let line = try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","ttl":5000}
      < {"ok":true}
      """#)[0]
    #expect((4_990...5_000).contains(line["fresh_for"]?.integer ?? 0))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","cache":"reload","ttl":0}
      < {"ok":true,"fresh_for":0}
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true,"source":"network"}
      """#)
  }

  @Test func `a body above max_bytes is refused and one of that size is not`() throws {
    let stage = try CoreStage("Downloads.MaxBytes=5000")
    stage.origin.plan("/a.png", .picture(png(4_000)))
    stage.origin.plan("/b.png", .untilClosed(png(4_000)))
    stage.origin.plan("/c.png", .picture(png(6_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","max_bytes":3999}
      < {"ok":false,"error":{"code":"too_large","retryable":false,"details":{"limit":3999}}}
      > {"cmd":"fetch","url":"ORIGIN/b.png","max_bytes":3999}
      < {"ok":false,"error":{"code":"too_large","details":{"limit":3999}}}
      > {"cmd":"fetch","url":"ORIGIN/a.png","max_bytes":4000}
      < {"ok":true,"bytes":4000}
      > {"cmd":"fetch","url":"ORIGIN/c.png","max_bytes":100000}
      < {"ok":false,"error":{"code":"too_large","details":{"limit":5000}}}
      """#)
  }

  @Test func `a request past its time gets an error, and its transfer is cancelled`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .silence)
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.png","timeout_ms":50}"#)
    stage.pass(.milliseconds(50))
    try stage.play(
      #"""
      < {"ok":false,"error":{"code":"timeout","retryable":true,"details":{"phase":"…"}}}
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      """#)
    #expect(stage.origin.running == 0)
  }

  @Test func `a picture of a format that is not accepted is refused and not kept`() throws {
    let stage = try CoreStage("Downloads.AcceptTypes=jpeg")
    stage.origin.plan("/a.png", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":false,"error":{"code":"unsupported_format"}}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"none"}
      """#)
  }

}

extension Noise {
  static func some(_ count: Int) -> [UInt8] {
    var noise = Noise(seed: 42)
    return noise.bytes(count)
  }
}
