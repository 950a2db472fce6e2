import ImgdClient
import ImgdTestSupport
import Testing

/// Pictures in all the forms in which the library hands them out.
struct FetchTests {
  private let stage: ClientStage

  init() async throws { stage = try await ClientStage() }

  @Test func `a picture comes as a file, with its facts`() async throws {
    let url = stage.url("/a", .picture(png(4_000), headers: [("Cache-Control", "max-age=100")]))
    let picture = try await stage.client.fetch(url)
    #expect(picture.url == url)
    #expect(picture.source == .network)
    #expect(picture.format == "png")
    #expect(picture.type == "image/png")
    #expect(picture.width == 16 && picture.height == 16 && picture.frames == 1)
    #expect(picture.byteCount == 4_000)
    #expect(readBytes(picture.path ?? "") == png(4_000))
    #expect(picture.receipt != nil)
    #expect(picture.freshFor.map { $0 <= .seconds(100) } == true)
    #expect(!picture.isStale && !picture.isCoalesced)
    #expect(picture.finalURL == nil && picture.memory == nil && picture.placeholder == nil)
    #expect(try await stage.client.fetch(url).source == .memory)
  }

  @Test(arguments: [1_000, 3_000_000])
  func `bytes are mapped`(count: Int) async throws {
    let url = stage.url("/a", .picture(png(count)))
    let options = FetchOptions(delivery: .bytes)
    let memory = try #require(try await stage.client.fetch(url, options).memory)
    #expect(memory.layout == .encoded)
    #expect(memory.count == count)
    #expect(memory.withUnsafeBytes { Array($0) } == png(count))
    // As spans, from both ends.
    let (span, bytes) = (memory.span, memory.bytes)
    #expect(span.count == count && span[0] == 0x89)
    #expect(bytes.unsafeLoad(fromByteOffset: count - 1, as: UInt8.self) == png(count).last)
  }

  @Test func `memory outlives the entry, the client and the daemon`() async throws {
    let options = FetchOptions(delivery: .bytes)
    let url = stage.url("/a", .picture(png(4_000)))
    let picture = try await stage.client.fetch(url, options)
    try await stage.client.purge(.everything)
    await stage.client.close()
    try await stage.kill()
    #expect(picture.memory?.withUnsafeBytes { Array($0) } == png(4_000))
  }

  @Test func `a picture of the program's own is decoded, and kept where its path is wanted`() async throws {
    let bytes = TestPicture.png(TestPixels.gradient(width: 13, height: 7))
    let directory = TemporaryDirectory()
    try write(bytes, to: directory.path + "/a.png")
    let file = try PictureFile(path: directory.path + "/a.png")
    let memory = try await stage.client.fetch(file, FetchOptions(delivery: .pixels)).memory
    guard case .pixels(13, 7, _) = memory?.layout else {
      Issue.record("the layout is \(String(describing: memory?.layout))")
      return
    }
    let again = try PictureFile(bytes: bytes)
    #expect(try await stage.client.fetch(again, FetchOptions(delivery: .none)).source == .memory)
    #expect(readBytes(try await stage.client.fetch(again).path ?? "") == bytes)
    let error = await failure { _ = try PictureFile(path: "/nonexistent") }
    #expect((error as? ImgdError)?.message == "open /nonexistent: No such file or directory")
    #expect(await failure { _ = try PictureFile(descriptor: -1) } is ImgdError)
  }

  @Test func `what was put is fetched, and the origin is not asked`() async throws {
    let url = stage.origin.url("/mine.png")
    try await stage.client.put(url, PictureFile(bytes: png(4_000)), PutOptions(ttl: .seconds(60), tags: ["mine"]))
    let picture = try await stage.client.fetch(url, FetchOptions(delivery: .bytes))
    #expect(picture.memory?.withUnsafeBytes { Array($0) } == png(4_000))
    #expect(picture.freshFor.map { $0 <= .seconds(60) } == true)
    var filter = PurgeFilter()
    filter.tag = "mine"
    #expect(try await stage.client.purge(filter).removed)
    #expect(stage.origin.requests("/mine.png").isEmpty)
  }

  @Test func `pixels have their geometry`() async throws {
    let pixels = TestPixels.gradient(width: 13, height: 7)
    let url = stage.url("/a", .picture(TestPicture.png(pixels)))
    let picture = try await stage.client.fetch(url, FetchOptions(delivery: .pixels))
    let memory = try #require(picture.memory)
    guard case .pixels(13, 7, let stride) = memory.layout else {
      Issue.record("the layout is \(memory.layout)")
      return
    }
    let rows = memory.withUnsafeBytes { bytes in
      (0..<7).flatMap { (row: Int) -> [UInt8] in Array(bytes[(row * stride)...].prefix(13 * 4)) }
    }
    #expect(rows == pixels.bytes)
  }

  @Test func `only the facts`() async throws {
    let url = stage.url("/a", .picture(png()))
    let picture = try await stage.client.fetch(url, FetchOptions(delivery: .none))
    #expect(picture.path == nil && picture.memory == nil && picture.pathNote == nil)
    #expect(picture.byteCount == 1_000)
  }

  @Test func `another form`() async throws {
    let pixels = TestPixels.gradient(width: 64, height: 32)
    let url = stage.url("/a", .picture(TestPicture.png(pixels)))
    var options = FetchOptions(resize: Resize(width: 16, height: 16, fit: .cover, crop: .attention))
    options.format = .webp
    options.quality = 90
    options.describe = true
    let picture = try await stage.client.fetch(url, options)
    #expect(picture.format == "webp")
    #expect(picture.width == 16 && picture.height == 16)
    let placeholder = try #require(picture.placeholder)
    #expect(placeholder.thumbhash.count > 4)
    #expect(placeholder.average.alpha == 255)
    options.resize = Resize(width: 128, enlarge: true, linear: true)
    #expect(try await stage.client.fetch(url, options).width == 128)
  }

  @Test func `every option arrives`() async throws {
    let url = stage.url("/a", .picture(png(), headers: [("Cache-Control", "max-age=9")]))
    var options = FetchOptions()
    options.identifier = "dark"
    options.tags = ["page 3"]
    options.headers = ["Accept-Language": "fr"]
    options.ttl = .milliseconds(99_001)
    options.store = .memory
    options.priority = .high
    options.share = "page 3"
    options.frames = .first
    options.timeout = .seconds(60)
    options.maxBytes = 1_000
    options.cache = .reload
    let begun = ContinuousClock.now
    let picture = try await stage.client.fetch(url, options)
    #expect(picture.path == nil && picture.pathNote != nil)
    let freshFor = try #require(picture.freshFor)
    #expect(freshFor > .seconds(98) - (ContinuousClock.now - begun) && freshFor <= .seconds(100))
    #expect(stage.origin.requests("/a")[0].header("accept-language") == "fr")
    #expect(try await stage.client.query(url) == nil)
    #expect(try await stage.client.purge(PurgeFilter(tag: "page 3")).memory?.entries == 1)
    options.share = ""
    await #expect(throws: ImgdError.self) { try await stage.client.fetch(url, options) }
  }

  @Test func `a redirect is told`() async throws {
    stage.origin.plan("/b", .picture(png()))
    let url = stage.url("/a", .redirect(to: "/b"))
    #expect(try await stage.client.fetch(url).finalURL == stage.origin.url("/b"))
  }

  @Test func `a begun fetch is collected later`() async throws {
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    let receipt = try await stage.client.begin(url)
    gate.open()
    let picture = try await stage.client.wait(for: receipt, delivery: .bytes)
    #expect(picture.memory?.count == 1_000)
    #expect(picture.receipt == receipt)
  }

  @Test func `a begun fetch can be cancelled`() async throws {
    let url = stage.url("/a", .silence)
    var options = FetchOptions()
    options.tags = ["t"]
    let receipt = try await stage.client.begin(url, options)
    let before = try await stage.client.cancel(receipt)
    #expect(before == .queued || before == .running)
    #expect(try await stage.client.cancel(receipt) == .finished)
    #expect(try await stage.client.cancel(tag: "t") == 0)
    let error = await failure { _ = try await stage.client.wait(for: receipt) }
    #expect((error as? ImgdError)?.code == .cancelled)
  }
}
