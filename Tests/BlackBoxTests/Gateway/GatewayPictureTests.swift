import ImgdTestSupport
import Testing

/// Pictures over HTTP, by the programs as they are.
struct GatewayPictureTests {
  private static let cat = TestPicture.jpeg(width: 640, height: 480)
  private static let modified = "Wed, 01 Jan 2025 10:00:00 GMT"
  private let stage: GatewayStage

  init() throws {
    stage = try GatewayStage()
    stage.origin.plan(
      "/cat.jpg",
      .picture(
        Self.cat, type: "image/jpeg",
        headers: [
          ("Cache-Control", "max-age=600"), ("Age", "100"), ("Last-Modified", Self.modified),
        ]))
  }

  private func cat(_ form: String = "", _ fields: [String] = []) throws -> HTTPAnswer {
    try stage.gateway.fetch(stage.url("/cat.jpg"), form, fields)
  }

  @Test func `a form has no more bytes than are wanted, and is another form for each number of them`() throws {
    var generator = SeededGenerator(seed: 3)
    let noise = TestPixels(width: 64, height: 64) { _, _ in
      (0..<3).map { _ in UInt8.random(in: 0...255, using: &generator) } + [255]
    }
    stage.origin.plan("/noise.png", .picture(TestPicture.png(noise)))
    let forms = ["", "&max_bytes=3000", "&max_bytes=2500", "&max_bytes=3000"]
    let sizes = try forms.map { try stage.gateway.fetch(stage.url("/noise.png"), "&format=webp" + $0).body.count }
    #expect(sizes[0] > 3_000 && 2_501...3_000 ~= sizes[1] && sizes[2] <= 2_500 && sizes[3] == sizes[1], "\(sizes)")
  }

  @Test func `a picture comes with all that a browser and a cache need`() throws {
    let answer = try cat()
    #expect(answer.status == 200 && answer.body == Self.cat)
    #expect(answer["content-type"] == "image/jpeg")
    #expect(answer["content-length"] == "\(Self.cat.count)")
    #expect(answer["x-content-type-options"] == "nosniff")
    #expect(answer["last-modified"] == Self.modified)
    #expect(answer["accept-ranges"] == "bytes")
    #expect(answer["cache-control"] == "public, max-age=600")
    #expect(answer["age"].flatMap { Int($0) }.map { 100..<130 ~= $0 } == true)
    #expect(answer["vary"] == nil)
    let tag = try #require(answer["etag"])
    #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count == 18)
    #expect(try cat()["etag"] == tag)
    #expect(stage.origin.count("/cat.jpg") == 1)
  }

  @Test func `a client that has the picture gets it not again`() throws {
    let tag = try #require(try cat()["etag"])
    for fields in [
      ["If-None-Match: \(tag)"], ["If-None-Match: \"x\", W/\(tag)"], ["If-None-Match: *"],
      ["If-Modified-Since: \(Self.modified)"],
    ] {
      let answer = try cat("", fields)
      #expect(answer.status == 304 && answer["etag"] == tag, "\(fields)")
      #expect(answer["cache-control"] != nil && answer.body.isEmpty)
    }
    #expect(
      try cat("", ["If-None-Match: \"x\"", "If-Modified-Since: \(Self.modified)"]).status == 200)
    #expect(try cat("", ["If-Match: \"x\""]).status == 412)
  }

  @Test func `a part of a picture is sent alone`() throws {
    let tag = try #require(try cat()["etag"])
    let (count, last) = (Self.cat.count, Self.cat.count - 1)
    for (range, part) in [
      ("0-99", 0...99), ("100-", 100...last), ("-50", (count - 50)...last),
      ("5-999999999", 5...last),
    ] {
      let answer = try cat("", ["Range: bytes=\(range)"])
      #expect(answer.status == 206 && answer.body == Array(Self.cat[part]), "\(range)")
      #expect(answer["content-range"] == "bytes \(part.lowerBound)-\(part.upperBound)/\(count)")
    }
    let beyond = try cat("", ["Range: bytes=\(count)-"])
    #expect(beyond.status == 416 && beyond["content-range"] == "bytes */\(count)")
    #expect(try cat("", ["Range: bytes=0-1,5-6"]).status == 200)
    #expect(try cat("", ["Range: bytes=0-9", "If-Range: \(tag)"]).status == 206)
    #expect(try cat("", ["Range: bytes=0-9", "If-Range: \"x\""]).body == Self.cat)
  }

  @Test func `other forms are made, by either way of asking`() throws {
    let query = try cat("&width=100&height=50&fit=cover&format=webp")
    #expect(query.status == 200 && query["content-type"] == "image/webp", "\(query.text)")
    #expect(query["last-modified"] == Self.modified)
    let path = try stage.gateway.get("/rs:fill:100:50/f:webp/plain/" + stage.url("/cat.jpg"))
    #expect(path["etag"] == query["etag"] && path.body == query.body)
    let refused = try stage.gateway.get("/blur:5/plain/" + stage.url("/cat.jpg"))
    #expect(refused.status == 400 && refused.text.contains("blur"))
  }

  @Test func `a browser gets the format that it takes`() throws {
    for (accept, type) in [
      ("image/avif,image/webp,*/*", "image/avif"), ("image/webp,*/*", "image/webp"),
      ("*/*", "image/jpeg"), ("image/avif;q=0, image/webp;q=0.5", "image/webp"),
    ] {
      let answer = try cat("&width=40&format=auto", ["Accept: \(accept)"])
      #expect(answer["content-type"] == type, "\(accept): \(answer.status)")
      #expect(answer["vary"] == "Accept")
    }
  }

  @Test func `an animation keeps its frames in a browser`() throws {
    let accept = "Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
    let gif = TestPicture.gif(width: 16, height: 16, colours: (1...10).map { [$0 * 20, 9, 9] })
    stage.origin.plan("/a.gif", .picture(gif, type: "image/gif"))
    for form in ["", "&width=8", "&width=8&dpr=2"] {
      let url = stage.url("/a.gif")
      let answer = try stage.gateway.fetch(url, form + "&format=auto", [accept])
      #expect(answer.status == 200 && answer["content-type"] == "image/webp", "\(form)")
      // Each frame of a WebP is a chunk with this name.
      #expect(answer.text.split(separator: "ANMF", omittingEmptySubsequences: false).count == 11, "\(form)")
    }
  }

  @Test func `HEAD tells of a picture without sending it`() throws {
    let target = "/fetch?url=" + stage.url("/cat.jpg")
    let connection = try HTTPConversation(stage.gateway.socket)
    try connection.send(target, method: "HEAD")
    #expect(try connection.answer(isHead: true)["content-length"] == "\(Self.cat.count)")
    try connection.send(target)
    #expect(try connection.answer().body == Self.cat)
  }

  @Test func `requests that come at once are answered in their order`() throws {
    let target = "/fetch?url=" + stage.url("/cat.jpg")
    let connection = try HTTPConversation(stage.gateway.socket)
    for part in [target, "/nothing", target + "&width=30", "/health"] { try connection.send(part) }
    let answers = try (0..<4).map { _ in try connection.answer() }
    #expect(answers.map(\.status) == [200, 404, 200, 200])
    #expect(answers[0].body == Self.cat && answers[3].text.contains("ok"))
  }

  @Test func `others do not keep what they may not keep`() throws {
    for field in ["no-store", "private, max-age=600"] {
      stage.origin.plan("/own", .picture(Self.cat, headers: [("Cache-Control", field)]))
      for form in ["", "&width=20"] {
        let answer = try stage.gateway.fetch(stage.url("/own"), form)
        #expect(answer.status == 200 && answer["cache-control"] == "no-store", "\(field) \(form)")
      }
    }
  }
}
