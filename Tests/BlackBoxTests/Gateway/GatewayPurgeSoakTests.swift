import Glibc
import ImgdSystem
import ImgdTestSupport
import Synchronization
import Testing

/// Readers of one picture, which is purged and replaced all the time: whoever asks after a purge was answered is shown
/// nothing older.
@Suite(.serialized, .slow) struct GatewayPurgeSoakTests {
  private static let answers = 1_000_000
  private static let readers = 4

  /// A picture tells its number by its length.
  private static let shortest = 500

  private final class Race: Sendable {
    /// The picture whose predecessors were purged, which has been answered.
    let oldest = Atomic(0)
    let answers = Atomic(0)
    let wrong = Atomic(0)
    let isOver = Atomic(false)

    func read(_ url: String, over socket: String) throws {
      let client = try HTTPConversation(socket)
      while !isOver.load(ordering: .relaxed) {
        let least = oldest.load(ordering: .acquiring)
        try client.send("/fetch?url=" + url)
        let answer = try client.answer()
        let isRight =
          answer.status == 200 && answer.body.count >= GatewayPurgeSoakTests.shortest + least
        if !isRight { wrong.add(1, ordering: .relaxed) }
        answers.add(1, ordering: .relaxed)
      }
    }
  }

  @Test func `no answer is older than a purge that was answered before it was asked for`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "Workers=2"])
    let race = Race()
    let (url, socket) = (stage.url("/a"), stage.gateway.socket)
    func plan(_ number: Int) {
      let picture = TestPicture.png(bytes: Self.shortest + number)
      stage.origin.plan("/a", .picture(picture, headers: [("Cache-Control", "max-age=600")]))
    }
    plan(0)
    let threads = try (0..<Self.readers).map { _ in
      try Thread(name: "reader") {
        do { try race.read(url, over: socket) } catch { race.wrong.add(1, ordering: .relaxed) }
      }
    }
    var purges = 0
    while race.answers.load(ordering: .relaxed) < Self.answers,
      race.wrong.load(ordering: .relaxed) == 0
    {
      // So that it is held in between.
      let enough = race.answers.load(ordering: .relaxed) + 8 * Self.readers
      while race.answers.load(ordering: .relaxed) < enough,
        race.wrong.load(ordering: .relaxed) == 0
      { sched_yield() }
      purges += 1
      plan(purges)
      try stage.stage.play(#"> {"cmd":"purge","url":"ORIGIN/a"}"# + "\n" + #"< {"ok":true}"#)
      race.oldest.store(purges, ordering: .releasing)
    }
    race.isOver.store(true, ordering: .relaxed)
    for thread in threads { thread.join() }
    #expect(race.wrong.load(ordering: .relaxed) == 0, "after \(purges) purges")
    #expect(purges > Self.answers / (64 * Self.readers))
  }
}
