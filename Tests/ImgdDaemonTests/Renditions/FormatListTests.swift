import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Lists of formats, and animations that lose their frames.
struct FormatListTests {
  private func stage() throws -> CoreStage {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(TestPicture.png(width: 100, height: 50)))
    stage.origin.plan("/moving.gif", .picture(TestPicture.gif(width: 40, height: 20, frames: 9)))
    return stage
  }

  private func ask(_ fields: String, path: String = "/a.png", of stage: CoreStage) throws
    -> JSONValue
  {
    try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url(path))",\#(fields)}"#)
  }

  @Test func `a list and the format that is chosen share what is made`() throws {
    let stage = try stage()
    let single = try ask(#""format":"webp""#, of: stage)
    #expect(single["format"]?.string == "webp")
    for list in [#"["webp","png"]"#, #"["avif","webp"]"#, #"["heic","webp","original"]"#] {
      let line = try ask(#""format":\#(list)"#, of: stage)
      #expect(line["source"]?.string == "memory", "\(list)")
      #expect(line["path"] == single["path"])
    }
    #expect(stage.decoding.orders.count == 1)
    // Without the picture in memory it is found on disk.
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    #expect(try ask(#""format":["avif","webp"]"#, of: stage)["source"]?.string == "disk")
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `a list is answered without parsing once its shape is known`() throws {
    let stage = try stage()
    for number in 0..<4 {
      let line = try ask(#""format":["avif","webp"],"deliver":"none""#, of: stage)
      #expect(line["format"]?.string == "webp" && line["frames_of"] == nil, "\(number)")
    }
    #expect(stage.core.parts.hits.count > 0)
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `what can be written is found out by the first form that cannot`() throws {
    let stage = try stage()
    stage.decoding.isKnown = false
    stage.decoding.onBegin = { decoding, order in
      decoding.isKnown = true
      guard case .file(.avif?, _) = order.rendition.output else { return nil }
      return DecodeFailure(.unsupported, "avif cannot be written")
    }
    let line = try ask(#""format":["avif","webp"]"#, of: stage)
    #expect(line["format"]?.string == "webp")
    #expect(stage.decoding.orders.count == 2)
    // A format that is named alone is refused.
    let refused = try ask(#""format":"avif""#, of: stage)
    #expect(refused["error"]?["code"]?.string == "unsupported_format")
  }

  @Test func `without a decoder a list ends with the picture itself`() throws {
    let stage = try stage()
    stage.decoding.isKnown = false
    stage.decoding.failure = DecodeFailure(.unavailable, "not installed")
    let line = try ask(#""format":["avif","webp","original","jpeg","png"]"#, of: stage)
    #expect(line["format"]?.string == "png" && line["width"]?.integer == 100)
    for fields in [
      #""format":["avif","webp"]"#, #""resize":{"width":9},"format":["avif","original"]"#,
    ] {
      #expect(try ask(fields, of: stage)["error"]?["code"]?.string == "unavailable")
    }
  }

  @Test func `no answer loses frames in silence`() throws {
    let stage = try stage()
    // The planned decoder makes one frame of everything.
    for source in ["network", "memory", "memory", "memory"] {
      let line = try ask(#""format":"png","deliver":"none""#, path: "/moving.gif", of: stage)
      #expect(line["source"]?.string == source)
      #expect(line["frames"]?.integer == 1 && line["frames_of"]?.integer == 9)
    }
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    let line = try ask(#""format":"png","deliver":"none""#, path: "/moving.gif", of: stage)
    #expect(line["source"]?.string == "disk" && line["frames_of"]?.integer == 9)
    let whole = try ask(#""deliver":"none""#, path: "/moving.gif", of: stage)
    #expect(whole["frames"]?.integer == 9 && whole["frames_of"] == nil)
  }

  @Test func `all frames are refused where the format has one`() throws {
    let stage = try stage()
    let line = try ask(#""format":"avif","frames":"all""#, path: "/moving.gif", of: stage)
    #expect(line["error"]?["code"]?.string == "unsupported_format")
    #expect(line["error"]?["message"]?.string?.contains("9 frames") == true)
    #expect(stage.decoding.orders.isEmpty)
    let still = try ask(#""format":"webp","frames":"all""#, of: stage)
    #expect(still["ok"] == true && still["frames_of"] == nil)
  }
}
