import ImgdTestSupport
import Testing

/// Drawings over HTTP, where they are always pixels.
struct GatewayDrawingTests {
  private let stage: GatewayStage

  init() throws {
    stage = try GatewayStage(
      ["Allow=127.0.0.1", "Presets=small:8x8 own:original"], daemon: "[Downloads]", "AcceptTypes=png svg")
    stage.origin.plan(
      "/disc.svg",
      .picture(TestDrawing.disc, type: "image/svg+xml", headers: [("Cache-Control", "max-age=600")]))
  }

  @Test(arguments: [
    "", "&format=original", "&format=auto", "&format=png", "&width=40", "&width=40&enlarge=true", "&quality=50",
    "&preset=small", "&preset=own", "&area=0,0,4,4",
  ])
  func `no target leads to the document itself`(_ form: String) throws {
    let url = stage.url("/disc.svg")
    // The second answer is held, and the daemon has the picture by then.
    for _ in 0..<3 {
      for fields in [
        [], ["Accept: image/svg+xml,*/*"], ["Accept: image/svg+xml"], ["Range: bytes=0-9"], ["If-None-Match: \"x\""],
      ] {
        let answer = try stage.gateway.fetch(url, form, fields)
        #expect([200, 206].contains(answer.status), "\(form) \(fields)")
        #expect(answer["content-type"] == "image/png")
        #expect(answer.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(answer["content-length"] == "\(answer.body.count)")
      }
    }
    let head = try stage.gateway.get("/fetch?url=\(url)\(form)", method: "HEAD")
    #expect(head.status == 200 && head["content-type"] == "image/png")
    #expect(stage.origin.count("/disc.svg") == 1)
  }

  @Test func `the picture has its own tag, and the size of the drawing`() throws {
    let url = stage.url("/disc.svg")
    let answer = try stage.gateway.fetch(url)
    let tag = try #require(answer["etag"])
    #expect(try stage.gateway.fetch(url, "", ["If-None-Match: \(tag)"]).status == 304)
    #expect(try stage.gateway.fetch(url, "&format=png")["etag"] == tag)
    #expect(Array(answer.body[16..<24]) == [0, 0, 0, 16, 0, 0, 0, 16])
  }

  @Test func `another spelling of a drawing is one, too`() throws {
    for (number, text) in [
      "<?xml version='1.0'?><!-- a --><s:svg xmlns:s='http://www.w3.org/2000/svg' width='3' height='3'/>",
      " \n<svg xmlns='http://www.w3.org/2000/svg' width='3' height='3'/>",
    ].enumerated() {
      stage.origin.plan("/\(number)", .picture(Array(text.utf8), type: "image/png"))
      let answer = try stage.gateway.fetch(stage.url("/\(number)"))
      #expect(answer["content-type"] != "image/svg+xml" && !answer.body.holds("svg"))
    }
  }
}
