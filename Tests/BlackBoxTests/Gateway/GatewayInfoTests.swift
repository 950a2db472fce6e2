import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// What a picture is, without the picture.
struct GatewayInfoTests {
  private static let names = ["format", "width", "height", "bytes", "frames", "thumbhash", "average"]
  private static let cat = TestPicture.jpeg(width: 640, height: 480)

  private func plan(_ stage: GatewayStage) {
    stage.origin.plan("/cat.jpg", .picture(Self.cat, headers: [("Cache-Control", "max-age=600")]))
  }

  @Test func `the facts of a picture are told, and nothing else`() throws {
    let stage = try GatewayStage()
    plan(stage)
    let answer = try stage.gateway.get("/info?url=" + stage.url("/cat.jpg"))
    #expect(answer.status == 200 && answer["content-type"] == "application/json", "\(answer.text)")
    let json = try #require(answer.json)
    #expect(json.object?.map(\.name) == Self.names)
    #expect(json["format"] == "jpeg" && json["width"] == 640 && json["height"] == 480)
    #expect(json["bytes"]?.integer == Int64(Self.cat.count) && json["frames"] == 1)
    #expect(json["average"]?.string?.hasPrefix("#") == true && json["thumbhash"]?.string != nil)
    // The placeholder takes its time.
    let seconds = answer["cache-control"]?.split(separator: "=").last.flatMap { Int($0) }
    #expect(seconds.map { 570...600 ~= $0 } == true)
    #expect(answer.cacheStatus?["fwd"] == .token("miss"))
    let picture = try stage.gateway.fetch(stage.url("/cat.jpg"))
    let tag = try #require(answer["etag"])
    #expect(tag == "W/" + (picture["etag"] ?? "") && stage.origin.count("/cat.jpg") == 1)
    let known = try stage.gateway.get("/info?url=" + stage.url("/cat.jpg"), ["If-None-Match: \(tag)"])
    #expect(known.status == 304 && known.body.isEmpty && known["etag"] == tag)
    #expect(known["content-length"] == answer["content-length"])
    let head = try stage.gateway.get("/info?url=" + stage.url("/cat.jpg"), method: "HEAD")
    #expect(head.status == 200 && head["content-length"] == answer["content-length"])
    let ranged = try stage.gateway.get("/info?url=" + stage.url("/cat.jpg"), ["Range: bytes=0-9"])
    #expect(ranged.status == 200 && ranged.json != nil)
  }

  @Test func `it takes no form, and errors are those of the picture`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "Presets=a:10x10"])
    plan(stage)
    let target = "/info?url=" + stage.url("/cat.jpg")
    #expect(try stage.gateway.get(target).status == 200)
    for form in ["&width=10", "&preset=a", "&format=auto", "&filename=x"] {
      let answer = try stage.gateway.get(target + form)
      #expect(answer.status == 400 && answer.text.contains("/info has no parameter"), "\(form)")
    }
    for (target, status) in [
      ("/info", 400), ("/info?url=", 400), ("/info?url=http://closed.example/", 403),
      ("/info?url=" + stage.url("/missing"), 404), (target + "&expires=1", 403),
      (target + "&signature=AAAA", 403),
    ] {
      let answer = try stage.gateway.get(target)
      #expect(answer.status == status && answer.code != nil, "\(target)")
    }
  }

  @Test func `where presets alone are open, it is for signed targets`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "OnlyPresets=yes", "Presets=a:10x10"])
    plan(stage)
    let answer = try stage.gateway.get("/info?url=" + stage.url("/cat.jpg"))
    #expect(answer.status == 403 && answer.code == "not_allowed" && answer.text.contains("KeyFile="))
    #expect(stage.origin.count("/cat.jpg") == 0)
  }

  @Test func `the frames of an animation are counted`() throws {
    let stage = try GatewayStage()
    stage.origin.plan("/a.gif", .picture(TestPicture.gif(ofFrames: 10)))
    let json = try stage.gateway.get("/info?url=" + stage.url("/a.gif")).json
    #expect(json?["frames"] == 10 && json?["format"] == "gif")
  }
}
