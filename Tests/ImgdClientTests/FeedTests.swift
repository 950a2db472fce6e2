import Testing

@testable import ImgdClient

/// What waits for a reader that is slow.
struct FeedTests {
  @Test func `a newer count replaces an older one`() async throws {
    let feed = Feed(FetchUpdate.replacing)
    feed.add(.queued)
    for count in 0..<1_000 { feed.add(.progress(received: count, expected: nil)) }
    feed.add(.started)
    feed.finish()
    feed.add(.queued)
    var seen: [String] = []
    while let update = try await feed.next() { seen.append("\(update)") }
    #expect(seen == ["queued", "progress(received: 999, expected: nil)", "started"])
  }

  @Test func `events beyond a thousand are counted`() async throws {
    let feed = Feed(DaemonEvent.counting)
    for _ in 0..<1_000 { feed.add(DaemonEvent(lost: 0)) }
    for _ in 0..<3 { feed.add(DaemonEvent(lost: 5)) }
    feed.add(DaemonEvent(lost: .max))
    feed.finish()
    var lost: [DaemonEvent.Kind] = []
    while let event = try await feed.next() { lost.append(event.kind) }
    #expect(lost.count == 1_000)
    #expect(lost.last == .overflow(lost: .max))
  }

  @Test func `all who wait are told of the end`() async throws {
    struct Failure: Error {}
    let feed = Feed<Int> { $1.append($0) }
    let readers = (0..<5).map { _ in Task { try await feed.next() } }
    feed.finish(Failure())
    for reader in readers { await #expect(throws: Failure.self) { try await reader.value } }
  }

  @Test func `a reader that is cancelled takes nothing`() async throws {
    let feed = Feed<Int> { $1.append($0) }
    for round in 0..<200 {
      let reader = Task { try await feed.next() }
      reader.cancel()
      let taken = try? await reader.value
      #expect(taken == nil)
      feed.add(round)
      #expect(try await feed.next() == round)
    }
  }
}
