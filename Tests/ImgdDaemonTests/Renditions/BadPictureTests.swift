import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What came of a picture, or of a form of it, is known for a while.
struct BadPictureTests {
  private let thumbnail = #""resize":{"width":20,"height":10}"#

  private func stage() throws -> CoreStage {
    let stage = try CoreStage()
    for path in ["/a.png", "/b.png"] {
      stage.origin.plan(path, .picture(TestPicture.png(width: 100, height: 50)))
    }
    return stage
  }

  private func ask(_ fields: String, path: String = "/a.png", of stage: CoreStage) throws
    -> JSONValue
  {
    try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.origin.url(path))",\#(fields)}"#)
  }

  @Test func `a picture that ended a decoder is known as bad for a while, under any URL`() throws {
    let stage = try stage()
    stage.decoding.failure = DecodeFailure(.crashed, "signal 11")
    _ = try ask(#""deliver":"pixels""#, of: stage)
    stage.decoding.failure = nil
    for path in ["/a.png", "/b.png"] {
      let line = try ask(thumbnail, path: path, of: stage)
      #expect(line["error"]?["code"]?.string == "decode_crashed")
    }
    #expect(stage.decoding.orders.count == 1)
    stage.pass(.seconds(300))
    #expect(try ask(thumbnail + #","cache":"force-cache""#, of: stage)["ok"] == true)
  }

  @Test(arguments: [
    (DecodeFailure.Cause.timedOut, "timeout"), (.unmade, "decode_failed"),
    (.killed, "decode_crashed"), (.crashed, "decode_crashed"),
  ])
  func `a form that cannot be made says nothing of the others`(
    cause: DecodeFailure.Cause, code: String
  ) throws {
    let stage = try stage()
    stage.decoding.failure = DecodeFailure(cause, "the test says so")
    _ = try ask(#""format":"avif""#, of: stage)
    stage.decoding.failure = nil
    #expect(try ask(#""format":"avif""#, of: stage)["error"]?["code"]?.string == code)
    #expect(stage.decoding.orders.count == 1, "for a while")
    #expect(try ask(#""deliver":"pixels""#, of: stage)["ok"] == true)
  }

  @Test func `damage of the whole outlives a failure of one form`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    stage.settle()
    stage.decoding.failure = DecodeFailure(.damaged, "torn")
    stage.decoding.letThrough()
    #expect(try stage.client.receive()["error"]?["code"]?.string == "decode_failed")
    stage.decoding.failure = nil
    #expect(try ask(#""format":"avif""#, of: stage)["error"]?["code"]?.string == "decode_failed")
    #expect(try ask(thumbnail, of: stage)["error"]?["code"]?.string == "decode_failed")
    #expect(stage.decoding.orders.count == 1)
  }

  @Test(arguments: [
    #""url":"ORIGIN/a.png""#, #""url":"ORIGIN/b.png""#, #""prefix":"ORIGIN/b""#,
    #""host":"127.0.0.1""#, #""tag":"page""#, #""tier":"memory""#, #""tier":"disk""#,
    #""older_than":3600"#, #""url":"ORIGIN/a.png","soft":true"#, #""expired":true"#, nil,
  ])
  func `a purge forgets what came of the pictures that it names`(fields: String?) throws {
    let stage = try stage()
    for (cause, form) in [
      (DecodeFailure.Cause.damaged, thumbnail), (.unmade, #""format":"avif""#),
    ] {
      stage.decoding.failure = DecodeFailure(cause, "torn")
      _ = try ask(form + #","tags":["page"]"#, of: stage)
      stage.decoding.failure = nil
      #expect(try ask(form, path: "/b.png", of: stage)["ok"] == false)
      let words = (fields.map { "," + $0 } ?? "").replacing(stage)
      #expect(try stage.client.ask(#"{"cmd":"purge"\#(words)}"#)["ok"] == true)
      for path in ["/a.png", "/b.png"] {
        #expect(try ask(form, path: path, of: stage)["ok"] == true, "\(path)")
      }
      _ = try stage.client.ask(#"{"cmd":"purge"}"#)
    }
  }

  @Test(arguments: [
    #""url":"ORIGIN/c.png""#, #""prefix":"ORIGIN/c""#, #""host":"other.example""#,
    #""tag":"other""#,
  ])
  func `a purge of other pictures forgets nothing`(fields: String) throws {
    let stage = try stage()
    stage.decoding.failure = DecodeFailure(.damaged, "torn")
    _ = try ask(thumbnail + #","tags":["page"]"#, of: stage)
    stage.decoding.failure = nil
    #expect(
      try stage.client.ask(#"{"cmd":"purge",\#(fields.replacing(stage))}"#)["ok"] == true)
    #expect(try ask(thumbnail, of: stage)["ok"] == false)
  }

  @Test func `a picture that fails after its purge is tried anew`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    stage.settle()
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"purge"}"#)["ok"] == true)
    stage.decoding.failure = DecodeFailure(.damaged, "torn")
    stage.decoding.letThrough()
    #expect(try stage.client.receive()["ok"] == false)
    stage.decoding.failure = nil
    #expect(try ask(#""deliver":"pixels""#, of: stage)["ok"] == true)
  }

  @Test func `a purge goes over many of them in parts`() throws {
    var bad = BadPictures()
    let stage = try stage()
    _ = try ask(#""deliver":"none""#, of: stage)
    let url = try CanonicalURL.parse(stage.origin.url("/a.png"))
    let image = try #require(stage.core.memory.peek(CacheKey(url: url)))
    for width in 1...2_000 {
      let form = Rendition(.pixels, box: .init(width: width, height: nil))
      bad.note(DecodeFailure(.unmade, "no"), of: image, as: form, at: .current)
    }
    #expect(bad.count == 1_024, "the oldest are forgotten")
    var purge = bad.beginPurge(PurgeFilter())
    var parts = 1
    while bad.goOn(with: &purge) { parts += 1 }
    #expect(bad.count == 0 && parts == 16)
  }
}

extension String {
  fileprivate func replacing(_ stage: CoreStage) -> String {
    split(separator: "ORIGIN", omittingEmptySubsequences: false)
      .joined(separator: stage.origin.url(""))
  }
}
