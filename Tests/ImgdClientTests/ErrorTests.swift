import ImgdClient
import ImgdTestSupport
import ImgdWire
import Testing

/// Errors of the daemon, and of the way to it.
struct ErrorTests {
  @Test(arguments: ReplyCode.allCases)
  func `every code of the protocol has a case`(code: ReplyCode) {
    let known = ErrorCode(name: code.rawValue)
    #expect(known.name == code.rawValue)
    #expect(known != .other(code.rawValue))
  }

  @Test func `a later code keeps its name`() {
    #expect(ErrorCode(name: "too_blue") == .other("too_blue"))
    #expect(ErrorCode.other("too_blue").name == "too_blue")
  }

  @Test func `errors carry their facts`() async throws {
    let stage = try await ClientStage()
    let missing = stage.url("/a", .status(404))
    let error = try #require(await stage.error(missing))
    #expect(error.code == .httpStatus && error.details.status == 404 && !error.isRetryable)
    #expect(!error.details.isCached)
    #expect(try #require(await stage.error(missing)).details.isCached)
    let busy = stage.url("/b", .status(503, headers: [("Retry-After", "7")]))
    let later = try #require(await stage.error(busy))
    #expect(later.isRetryable && later.details.retryAfter == .seconds(7))
    var options = FetchOptions()
    options.maxBytes = 100
    let large = await stage.error(stage.url("/c", .picture(png())), options)
    #expect(large?.code == .tooLarge && large?.details.limit == 100)
    options = FetchOptions(resize: Resize(width: 20, fit: .cover))
    let wrong = await stage.error(missing, options)
    #expect(wrong?.code == .badRequest && wrong?.details.field == "resize")
    #expect(wrong?.description.hasSuffix("(bad_request)") == true)
    options = FetchOptions()
    options.cache = .onlyIfCached
    #expect(await stage.error(stage.origin.url("/d"), options)?.code == .notCached)
  }

  @Test func `a timeout names its phase`() async throws {
    let stage = try await ClientStage()
    var options = FetchOptions()
    options.timeout = .milliseconds(1)
    let error = await stage.error(stage.url("/a", .silence), options)
    #expect(error?.code == .timeout && error?.details.phase != nil)
  }

  /// The daemon does not read whose line was too long.
  @Test func `a request that is too long fails alone`() async throws {
    let stage = try await ClientStage()
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    async let picture = stage.client.fetch(url)
    var options = FetchOptions()
    options.headers = ["X-Long": String(repeating: "x", count: 70_000)]
    #expect(await stage.error(url, options)?.code == .lineTooLong)
    gate.open()
    #expect(try await picture.byteCount == 1_000)
  }

  @Test func `nobody is there`() async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/none"
    let error = await failure { try await Imgd(socket: path).ping() }
    #expect(error as? ConnectionError == .noSocket(path: path))
    #expect("\(try #require(error))".contains(path))
  }

  @Test func `a client that was closed stays so`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .silence)
    async let error = failure { _ = try await stage.client.fetch(url) }
    _ = try await stage.isAsked("/a")
    await stage.client.close()
    #expect(await error as? ConnectionError == .clientClosed)
    let later = await failure { try await stage.client.ping() }
    #expect(later as? ConnectionError == .clientClosed)
    #expect(try await stage.originIsLetGo())
    await stage.client.close()
  }
}

extension ClientStage {
  /// The daemon's error for a fetch.
  func error(_ url: String, _ options: FetchOptions = FetchOptions()) async -> ImgdError? {
    await failure { _ = try await client.fetch(url, options) } as? ImgdError
  }
}
