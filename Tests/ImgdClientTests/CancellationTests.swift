import ImgdClient
import ImgdTestSupport
import Testing

/// Tasks that are cancelled: the daemon stops what nobody waits for.
struct CancellationTests {
  @Test func `a download ends with the last task that waits for it`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .silence)
    let tasks = (0..<2).map { _ in Task { try await stage.client.fetch(url) } }
    #expect(try await stage.isAsked("/a"))
    #expect(try await stage.becomes("queue", "requests", 2))
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    #expect(try await stage.becomes("queue", "requests", 1))
    #expect(stage.origin.openConnections == 1)
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    #expect(try await stage.originIsLetGo())
    #expect(try await stage.client.stats().downloads.cancelled == 1)
  }

  @Test func `a fetch in the daemon's queue never starts`() async throws {
    let stage = try await ClientStage("Downloads.MaxActive=1")
    let gate = Gate()
    let first = stage.url("/a", .held(at: gate, then: .picture(png())))
    let second = stage.url("/b", .picture(png()))
    async let picture = stage.client.fetch(first)
    #expect(try await aside { gate.waitUntilReached() })
    let task = Task { try await stage.client.fetch(second) }
    #expect(try await stage.becomes("downloads", "queued", 1))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await stage.becomes("downloads", "queued", 0))
    gate.open()
    _ = try await picture
    #expect(stage.origin.count("/b") == 0)
  }

  @Test func `a task that is already cancelled sends nothing`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .picture(png()))
    let gate = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate.stream {}
      return try await stage.client.fetch(url)
    }
    task.cancel()
    gate.continuation.finish()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await stage.client.ping()
    #expect(stage.origin.count("/a") == 0)
  }

  @Test func `no moment of cancellation loses a task`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .picture(png()))
    let options = FetchOptions(delivery: .bytes)
    for _ in 0..<300 {
      let task = Task { try await stage.client.fetch(url, options) }
      task.cancel()
      // Either of them, but an end.
      let error = await failure { _ = try await task.value }
      #expect(error == nil || error is CancellationError)
    }
    #expect(try await stage.becomes("queue", "requests", 0))
  }

  @Test func `a cancelled question leaves the connection as it was`() async throws {
    let stage = try await ClientStage()
    for _ in 0..<50 {
      let task = Task { try await stage.client.stats() }
      task.cancel()
      _ = await failure { _ = try await task.value }
    }
    #expect(try await stage.client.stats().connectedClients == 2)
  }
}
