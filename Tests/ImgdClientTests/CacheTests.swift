import ImgdClient
import ImgdTestSupport
import Testing

/// The daemon's cache and state, as the library shows them.
struct CacheTests {
  private let stage: ClientStage

  init() async throws { stage = try await ClientStage() }

  @Test func `filters of a purge`() async throws {
    var options = FetchOptions()
    options.tags = ["page 3"]
    let (a, b) = (stage.url("/a", .picture(png())), stage.url("/dir/b", .picture(png())))
    _ = try await stage.client.fetch(a, options)
    _ = try await stage.client.fetch(b)
    let client = stage.client
    #expect(try await client.purge(PurgeFilter(tag: "page 4")).removed == false)
    #expect(try await client.purge(PurgeFilter(host: "example.org")).removed == false)
    var filter = PurgeFilter(url: a)
    filter.olderThan = .seconds(1_000)
    #expect(try await client.purge(filter).removed == false)
    filter = PurgeFilter(tag: "page 3")
    filter.tier = .memory
    let result = try await client.purge(filter)
    #expect(result.removed && result.memory?.entries == 1 && result.disk?.entries == 0)
    #expect(try await client.query(a)?.tier == "disk")
    filter = PurgeFilter(url: b)
    filter.soft = true
    #expect(try await client.purge(filter).removed == false)
    #expect(try await client.purge(PurgeFilter(prefix: stage.origin.url("/dir"))).removed)
    #expect(try await client.query(b) == nil)
    #expect(try await client.purge(.everything).disk?.entries == 1)
    #expect(try await client.query(a) == nil)
  }

  @Test(arguments: ["", #","body":false"#])
  func `an entry tells whether its bytes are kept`(field: String) async throws {
    let daemon = try ScriptedDaemon { _, request in
      [.line(#"{"id":\#(id(request)),"ok":true,"tier":"disk","bytes":7\#(field)}"#)]
    }
    let client = Imgd(socket: daemon.path)
    let entry = try #require(try await client.query("http://x/"))
    await client.close()
    #expect(entry.byteCount == 7 && entry.hasBytes == field.isEmpty)
  }

  @Test func `an entry is found without being used`() async throws {
    let picture = TestPicture.png(.plain([10, 20, 30, 255]))
    let url = stage.url("/a", .picture(picture, headers: [("Cache-Groups", #""g", "h""#)]))
    var options = FetchOptions()
    options.tags = ["x"]
    _ = try await stage.client.fetch(url, options)
    let entry = try #require(try await stage.client.query(url, describe: true))
    #expect(entry.tier == "memory" && entry.format == "png" && entry.tags == ["x"])
    #expect(entry.groups == ["g", "h"])
    #expect(entry.width == 16 && entry.age != nil)
    #expect(entry.placeholder?.average == Colour("#0a141e"))
  }

  @Test func `an entry has the answers that depend on headers`() async throws {
    let url = stage.url("/a", .picture(png(), headers: [("Vary", "Accept, DNT")]))
    var options = FetchOptions()
    options.headers = ["DNT": "1", "Accept": "image/webp"]
    _ = try await stage.client.fetch(url, options)
    #expect(try await stage.client.query(url) == nil, "a plain request finds none")
    options.headers = [:]
    _ = try await stage.client.fetch(url, options)
    let entry = try #require(try await stage.client.query(url))
    #expect(
      entry.variants.map(\.vary) == [
        ["accept": nil, "dnt": nil], ["accept": "image/webp", "dnt": "1"],
      ])
    #expect(entry.variants.allSatisfy { $0.tiers == ["memory", "disk"] && !$0.stored.isEmpty })
  }

  @Test func `counters`() async throws {
    let url = stage.url("/a", .picture(png()))
    _ = try await stage.client.fetch(url)
    _ = try await stage.client.fetch(url)
    let stats = try await stage.client.stats()
    #expect(stats.memory.entries == 1 && stats.memory.hits == 1 && stats.memory.misses == 1)
    #expect(stats.disk.entries == 1)
    #expect(stats.downloads.started == 1 && stats.downloads.completed == 1)
    #expect(stats.downloads.bytesReceived >= 1_000)
    #expect(stats.json.contains("\"latency_us\":"))
  }

  @Test func `the daemon says what it is`() async throws {
    // The daemon does not wait for its decoder to say what it can do.
    let url = stage.url("/a", .picture(TestPicture.png(.plain([1, 2, 3, 255]))))
    _ = try await stage.client.fetch(url, FetchOptions(delivery: .pixels))
    let hello = try await stage.client.hello()
    #expect(hello.protocolVersion == 1 && !hello.version.isEmpty && !hello.instance.isEmpty)
    #expect(hello.decodes.contains("png"))
  }

  @Test func `events of the daemon`() async throws {
    let events = try await stage.client.subscribe(to: [.cache, .jobs])
    let url = stage.url("/a", .picture(png()))
    let picture = try await stage.client.fetch(url)
    var seen: [String] = []
    for try await event in events {
      #expect(event.serial != nil)
      if case .cache(let change, let tier, let entries, _) = event.kind {
        seen.append("\(change) \(tier) \(entries)")
      }
      if case .job(let receipt, url, "done") = event.kind {
        #expect(receipt == picture.receipt)
        break
      }
    }
    #expect(seen.contains("stored memory 1"))
  }

  @Test func `a subscription ends with its daemon, its client or its reader`() async throws {
    let first = try await stage.client.subscribe(to: [.cache])
    try await stage.kill()
    try await stage.start()
    let error = await failure { for try await _ in first {} }
    #expect(error is ConnectionError)
    var second: DaemonEvents? = try await stage.client.subscribe(to: [.cache])
    #expect(try await stage.becomes("clients", "connected", 2))
    #expect(second != nil)
    second = nil
    #expect(try await stage.becomes("clients", "connected", 1))
    let third = try await stage.client.subscribe(to: [.cache])
    let reader = Task { for try await _ in third {} }
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    await stage.client.close()
    let end = await failure { for try await _ in third {} }
    #expect(end as? ConnectionError == .clientClosed)
  }

  @Test func `a subscription that is refused says why`() async throws {
    let error = await failure { _ = try await stage.client.subscribe(to: []) }
    #expect((error as? ImgdError)?.code == .badRequest)
  }
}
