import ImgdClient
import ImgdTestSupport
import Testing

/// The steps of a fetch.
struct ProgressTests {
  private let stage: ClientStage

  init() async throws { stage = try await ClientStage() }

  @Test func `all steps come in order, the picture last`() async throws {
    let gate = Gate()
    let url = stage.url("/a", .body(png(50_000), heldAfter: 20_000, at: gate))
    var steps: [String] = []
    for try await update in stage.client.progress(of: url) {
      switch update {
      case .queued: steps.append("queued")
      case .started: steps.append("started")
      case .progress(let received, let expected):
        #expect(expected == 50_000)
        gate.open()
        if steps.last != "progress" { steps.append("progress") }
        if received == 50_000 { steps.append("all") }
      case .placeholder: steps.append("placeholder")
      case .finished(let picture): steps.append("\(picture.byteCount)")
      }
    }
    #expect(steps == ["queued", "started", "progress", "all", "50000"])
  }

  @Test func `a placeholder comes before another form`() async throws {
    let pixels = TestPixels.gradient(width: 64, height: 32)
    let url = stage.url("/a", .picture(TestPicture.png(pixels)))
    var options = FetchOptions(resize: Resize(width: 16))
    options.describe = true
    var sizes: [Int] = []
    for try await update in stage.client.progress(of: url, options) {
      if case .placeholder(let placeholder) = update { sizes.append(placeholder.width) }
      if case .finished(let picture) = update { sizes.append(picture.width) }
    }
    #expect(sizes == [64, 16])
  }

  @Test func `an error ends the steps`() async throws {
    let url = stage.url("/a", .status(404))
    let error = await failure {
      for try await update in stage.client.progress(of: url) {
        if case .finished = update { Issue.record("there is no picture") }
      }
    }
    #expect((error as? ImgdError)?.details.status == 404)
  }

  @Test func `leaving the loop cancels the fetch`() async throws {
    let url = stage.url("/a", .silence)
    for try await update in stage.client.progress(of: url) {
      if case .started = update { break }
    }
    #expect(try await stage.originIsLetGo())
    #expect(try await stage.becomes("queue", "requests", 0))
  }

  @Test func `cancelling the task cancels the fetch`() async throws {
    let url = stage.url("/a", .silence)
    let task = Task { [stage] in
      for try await _ in stage.client.progress(of: url) {}
    }
    #expect(try await stage.isAsked("/a"))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await stage.originIsLetGo())
  }

  @Test func `nothing is fetched for a sequence that nobody reads`() async throws {
    let url = stage.url("/a", .picture(png()))
    var iterator = stage.client.progress(of: url).makeAsyncIterator()
    try await stage.client.ping()
    #expect(stage.origin.count("/a") == 0)
    #expect(try await iterator.next() != nil)
  }
}
