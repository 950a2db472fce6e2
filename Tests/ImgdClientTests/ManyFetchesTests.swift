import Glibc
import ImgdClient
import ImgdTestSupport
import Testing

/// Many fetches at once, and many after each other.
struct ManyFetchesTests {
  @Test func `a thousand fetches of a hundred pictures`() async throws {
    let stage = try await ClientStage()
    let urls = (0..<100).map { stage.url("/\($0)", .picture(png(2_000, seed: UInt64($0)))) }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<1_000 {
        group.addTask {
          let picture = try await stage.client.fetch(
            urls[number % 100], FetchOptions(delivery: .bytes))
          return picture.memory?.withUnsafeBytes { Array($0) }
            == png(2_000, seed: UInt64(number % 100))
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    // The stage's own, the client's, and the one on which a task waits that is alone.
    #expect(try await 2...3 ~= stage.client.stats().connectedClients)
    for path in 0..<100 { #expect(stage.origin.count("/\(path)") == 1) }
  }

  /// The client itself holds some of them back.
  @Test func `more fetches than a connection may have under way`() async throws {
    let stage = try await ClientStage()
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    let tasks = (0..<6_000).map { _ in
      Task { try await stage.client.fetch(url, FetchOptions(delivery: .none)) }
    }
    #expect(try await aside { gate.waitUntilReached() })
    for task in tasks[5_000...] { task.cancel() }
    gate.open()
    for task in tasks[..<5_000] { #expect(try await task.value.byteCount == 1_000) }
    #expect(try await stage.becomes("queue", "requests", 0))
  }

  /// The picture is told from those of other tests by its size.
  @Test func `neither descriptors nor memory stay behind`() async throws {
    let stage = try await ClientStage()
    let count = 1_234_567
    let url = stage.url("/a", .picture(png(count)))
    var kept: Picture?
    for round in 0..<60 {
      // From memory and from the disk.
      var filter = PurgeFilter()
      filter.tier = .memory
      if round % 3 == 0 { try await stage.client.purge(filter) }
      let task = Task { try await stage.client.fetch(url, FetchOptions(delivery: .bytes)) }
      if round % 2 == 0 {
        task.cancel()
        _ = await failure { _ = try await task.value }
      } else {
        kept = try await task.value
      }
    }
    // Closes what the cancelled ones have got.
    #expect(try await stage.becomes("queue", "requests", 0))
    await stage.client.close()
    // The tasks that have fetched it are let go of by other threads.
    #expect(try await aside { try becomes { mappings(of: count) == 1 && descriptors(of: count) == 0 } })
    #expect(kept?.memory?.count == count)
    kept = nil
    #expect(try await aside { try becomes { mappings(of: count) == 0 } })
  }

  @Test func `a client that nobody holds closes its connection`() async throws {
    let stage = try await ClientStage()
    for _ in 0..<20 { try await Imgd(socket: stage.stage.daemon.socket).ping() }
    #expect(try await stage.becomes("clients", "connected", 1))
  }

  private func mappings(of size: Int) -> Int {
    let pages = (size + 4_095) / 4_096 * 4_096
    return (read("/proc/self/maps") ?? "").split(separator: "\n").count { line in
      let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
      return ends.count == 2 && ends[1] - ends[0] == pages
    }
  }

  private func descriptors(of size: Int) -> Int {
    TemporaryDirectory.names(in: "/proc/self/fd").count { name in
      var status = stat()
      guard let number = CInt(name), fstat(number, &status) == 0 else { return false }
      return status.st_size == size
    }
  }
}
