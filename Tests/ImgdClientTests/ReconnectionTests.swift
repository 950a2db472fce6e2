import ImgdClient
import ImgdTestSupport
import Testing

/// Connections that break.
struct ReconnectionTests {
  @Test func `a client outlives a daemon that is killed`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .picture(png()))
    for _ in 0..<3 {
      let first = try await stage.client.hello().instance
      try await stage.kill()
      let error = await failure { _ = try await stage.client.fetch(url) }
      #expect(error as? ConnectionError == .notListening(path: stage.stage.daemon.socket))
      try await stage.start()
      #expect(try await stage.client.fetch(url).byteCount == 1_000)
      #expect(try await stage.client.hello().instance != first)
    }
  }

  @Test func `requests under way end when the daemon is killed`() async throws {
    let stage = try await ClientStage()
    let url = stage.url("/a", .silence)
    let tasks = (0..<20).map { _ in Task { try await stage.client.fetch(url) } }
    #expect(try await stage.becomes("queue", "requests", 20))
    #expect(try await stage.client.stats().requests == 20)
    try await stage.kill()
    for task in tasks {
      let error = await failure { _ = try await task.value }
      #expect(error is ConnectionError)
    }
  }

  @Test func `a fetch is sent once more, under another receipt`() async throws {
    let seen = Shared<[String]>([])
    let daemon = try ScriptedDaemon { connection, request in
      seen.with { $0.append(request) }
      return connection == 1
        ? [.close] : [.line(#"{"id":\#(id(request)),"ok":true,"bytes":7}"#)]
    }
    let client = Imgd(socket: daemon.path)
    #expect(try await client.fetch("http://x/").byteCount == 7)
    await client.close()
    let receipts = seen.with { $0 }.map { $0.split(separator: "receipt").last ?? "" }
    #expect(receipts.count == 2 && receipts[0] != receipts[1])
  }

  @Test func `a file goes with each attempt`() async throws {
    let daemon = try ScriptedDaemon { connection, request in
      connection == 1 ? [.close] : [.line(#"{"id":\#(id(request)),"ok":true,"bytes":7}"#)]
    }
    let client = Imgd(socket: daemon.path)
    let file = try PictureFile(bytes: [UInt8](repeating: 1, count: 1_234))
    #expect(try await client.fetch(file).byteCount == 7)
    #expect(try await client.put("http://x/", file).byteCount == 7)
    await client.close()
    #expect(daemon.handed.with { $0 } == [1_234, 1_234, 1_234])
  }

  @Test func `a fetch is not sent a third time`() async throws {
    let count = Shared(0)
    let daemon = try ScriptedDaemon { _, _ in
      count.with { $0 += 1 }
      return [.close]
    }
    let client = Imgd(socket: daemon.path)
    let error = await failure { _ = try await client.fetch("http://x/") }
    await client.close()
    #expect(error as? ConnectionError == .closed(path: daemon.path))
    #expect(count.with { $0 } == 2)
  }

  @Test func `a purge that may have been carried out is not sent again`() async throws {
    let count = Shared(0)
    let daemon = try ScriptedDaemon { _, _ in
      count.with { $0 += 1 }
      return [.close]
    }
    let client = Imgd(socket: daemon.path)
    let error = await failure { try await client.purge(.everything) }
    await client.close()
    #expect(error as? ConnectionError == .closed(path: daemon.path))
    #expect(count.with { $0 } == 1)
  }

  /// As it does for a client too many.
  @Test func `a reason for hanging up is passed on`() async throws {
    let daemon = try ScriptedDaemon { _, _ in
      [
        .line(#"{"ok":false,"error":{"code":"too_many_requests","message":"full"}}"#),
        .close,
      ]
    }
    let client = Imgd(socket: daemon.path)
    let error = await failure { try await client.ping() }
    await client.close()
    #expect((error as? ImgdError)?.code == .tooManyRequests)
  }

  @Test(arguments: [
    "nonsense", "[]", #"{"id":"#, #"{"id":1e400,"ok":true}"#,
  ]) func `another program in the daemon's place is found out`(line: String) async throws {
    let daemon = try ScriptedDaemon { _, _ in [.line(line)] }
    let client = Imgd(socket: daemon.path)
    let error = await failure { try await client.purge(.everything) }
    await client.close()
    guard case .unexpected(daemon.path, _)? = error as? ConnectionError else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  static let lies = [
    #"[{"kind":"encoded","bytes":4097}]"#, #"[{"kind":"encoded","bytes":-1}]"#,
    #"[{"kind":"encoded"}]"#, #"[{"kind":"pixels","bytes":4096}]"#, #"[{}]"#,
    #"[{"kind":"pixels","format":"rgba8","width":32,"height":33,"stride":128,"bytes":4096}]"#,
    #"[{"kind":"pixels","format":"rgba8","width":33,"height":32,"stride":128,"bytes":4096}]"#,
    #"[{"kind":"pixels","format":"rgba8","width":4611686018427387904,"height":4,"stride":0,"bytes":4096}]"#,
    #"[{"kind":"pixels","format":"rgba8","width":1,"height":4611686018427387904,"stride":4,"bytes":4096}]"#,
    #"[{"kind":"pixels","format":"rgba8","width":1,"height":-1,"stride":4,"bytes":4096}]"#,
  ]

  @Test(arguments: lies)
  func `memory that is not as described is refused`(fds: String) async throws {
    let daemon = try ScriptedDaemon { _, request in
      [.memory(#"{"id":\#(id(request)),"ok":true,"fds":\#(fds)}"#, bytes: 4_096)]
    }
    let client = Imgd(socket: daemon.path)
    let error = await failure {
      _ = try await client.fetch("http://x/", FetchOptions(delivery: .bytes))
    }
    await client.close()
    #expect(error is ConnectionError)
  }

  @Test func `a descriptor that does not come is missed`() async throws {
    let daemon = try ScriptedDaemon { _, request in
      [.line(#"{"id":\#(id(request)),"ok":true,"fds":[{"kind":"encoded","bytes":1}]}"#)]
    }
    let client = Imgd(socket: daemon.path)
    let error = await failure {
      _ = try await client.fetch("http://x/", FetchOptions(delivery: .bytes))
    }
    await client.close()
    #expect(error is ConnectionError)
  }

  /// As where the program has too many files open: later descriptors would belong to other lines.
  @Test func `a descriptor that gets lost ends the connection`() async throws {
    let connections = Shared(0)
    let daemon = try ScriptedDaemon { connection, request in
      connections.with { $0 = connection }
      let line = #"{"id":\#(id(request)),"ok":true,"fds":[{"kind":"encoded","bytes":1}]}"#
      return [.memory(line, bytes: 1, copies: connection == 1 ? 2 : 1)]
    }
    let client = Imgd(socket: daemon.path)
    let options = FetchOptions(delivery: .bytes)
    #expect(try await client.fetch("http://x/", options).memory?.count == 1)
    await client.close()
    #expect(connections.with { $0 } == 2)
  }

  @Test(arguments: ["1e308", "-1e308", "9223372036854775807"])
  func `numbers of any size are harmless`(number: String) async throws {
    let daemon = try ScriptedDaemon { _, request in
      let fields = ["elapsed_ms", "age", "fresh_for", "bytes", "width"].map {
        "\"\($0)\":\(number)"
      }
      return [.line(#"{"id":\#(id(request)),"ok":true,\#(fields.joined(separator: ","))}"#)]
    }
    let client = Imgd(socket: daemon.path)
    #expect(try await client.fetch("http://x/").elapsed >= .zero)
    await client.close()
  }
}
