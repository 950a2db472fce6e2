import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Rows of remembered answers, over the lives of a process.
@Suite struct TierAnswerTests {
  // MARK: Lives

  @Test(arguments: [false, true])
  func `answers are handed on after a restart, and after a kill`(isKill: Bool) throws {
    let stage = try TierStage()
    for number in 0..<3 { stage.tier.keepAnswer(answer(number, tags: ["t"], on: stage)) }
    stage.tier.add(photo("https://example.org/photo", on: stage))
    stage.turn()
    stage.pass(.seconds(10))
    try stage.next(isKill)
    #expect(stage.answered == [0, 1, 2])
    let again = try #require(stage.news.answers.first?.first)
    #expect(again.response.status == 404)
    #expect(again.byteCount == 0)
    #expect(again.tags == ["t"])
    #expect(again.age(at: stage.now) == 10)
    #expect(again.freshFor(at: stage.now) == 3_590)
    #expect(again.response.entityTag == "\"1\"")
    #expect(again.serial == 0)
    #expect(stage.tier.count == 1)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `the mark of a soft purge outlives a restart`() throws {
    let stage = try TierStage()
    let image = answer(0, on: stage)
    image.markStale()
    stage.tier.keepAnswer(image)
    try stage.restart()
    #expect(stage.news.answers.first?.first?.isStale == true)
  }

  @Test func `the last change to a row counts`() throws {
    let stage = try TierStage()
    for number in 0..<4 { stage.tier.keepAnswer(answer(number, on: stage)) }
    stage.tier.dropAnswers([digest(1)])
    stage.turn()
    stage.tier.dropAnswers([digest(2)])
    stage.tier.keepAnswer(answer(2, status: 410, on: stage))
    stage.tier.dropAnswers([digest(3)])
    stage.turn()
    try stage.crash()
    #expect(stage.answered == [0, 2])
    #expect(stage.news.answers.joined().map(\.response.status).sorted() == [404, 410])
  }

  @Test func `all rows can go at once, but for those that come later`() throws {
    let stage = try TierStage()
    for number in 0..<4 { stage.tier.keepAnswer(answer(number, on: stage)) }
    stage.turn()
    stage.tier.keepAnswer(answer(4, on: stage))
    stage.tier.dropAllAnswers()
    stage.tier.keepAnswer(answer(5, on: stage))
    stage.turn()
    try stage.crash()
    #expect(stage.answered == [5])
  }

  @Test func `what nobody else may see, or has been purged, or has bytes, has no row`() throws {
    let stage = try TierStage()
    for number in 0..<3 { stage.tier.keepAnswer(answer(number, on: stage)) }
    stage.turn()
    let scope = CredentialScope(uid: 1, credentials: [("authorization", "x")])
    stage.tier.keepAnswer(answer(key(url(9), nil, scope), on: stage))
    let purged = answer(1, on: stage)
    purged.isPurged = true
    stage.tier.keepAnswer(purged)
    stage.tier.keepAnswer(photo(url(2), on: stage))
    try stage.restart()
    #expect(stage.answered == [0])
  }

  @Test func `an answer that is kept while the index is opened is written`() throws {
    let stage = try TierStage()
    try stage.restart(turning: false)
    stage.tier.keepAnswer(answer(0, on: stage))
    stage.turn()
    try stage.crash()
    #expect(stage.answered == [0])
  }

  @Test func `an answer from a public address is known as one`() throws {
    let stage = try TierStage()
    stage.tier.keepAnswer(answer(0, isFromPublicAddress: true, on: stage))
    try stage.restart()
    #expect(stage.news.answers.first?.first?.isFromPublicAddress == true)
  }

  @Test func `a tier that is off remembers nothing`() throws {
    let stage = try TierStage()
    let tier = DiskTier(offOn: stage.loop)
    tier.keepAnswer(answer(0, on: stage))
    tier.dropAnswers([digest(0)])
    tier.dropAllAnswers()
    tier.onAnswers([])
    #expect(tier.held.total == 0)
  }

  // MARK: Use

  @Test(
    arguments: [
      (["max-age=3600"], 3_599, true), (["max-age=3600"], 3_600, false),
      (["max-age=3600", "e"], 3_600, true), (["max-age=3600", "e"], 7 * 86_400, true),
      (["max-age=3600", "e"], 7 * 86_400 + 1, false), (["no-cache", "e"], 1, true),
      (["no-cache"], 1, false), (["max-age=3600", "e"], -1, false),
      (["max-age=31536000"], 30 * 86_400, true),
    ] as [([String], Int64, Bool)])
  func `answers that are of no use have no row any more`(
    fields: [String], time: Int64, isUseful: Bool
  ) throws {
    let stage = try TierStage()
    var headers: HeaderList = [("cache-control", fields[0])]
    if fields.count > 1 { headers.append(("etag", "\"e\"")) }
    stage.tier.keepAnswer(answer(0, headers: headers, on: stage))
    try stage.restart(wall: TierStage.start + time)
    #expect(stage.answered == (isUseful ? [0] : []))
    stage.end()
    #expect(try stage.place.answerCount() == (isUseful ? 1 : 0))
  }

  // MARK: Damage

  @Test func `a damaged row goes alone`() throws {
    let stage = try TierStage()
    for number in 0..<5 { stage.tier.keepAnswer(answer(number, on: stage)) }
    stage.tier.add(photo("https://example.org/photo", on: stage))
    stage.turn()
    stage.end()
    try stage.place.sql(
      """
      UPDATE answer SET record = cast(substr(record, 1, 40) || x'00' || substr(record, 42) AS BLOB)
      WHERE digest = x'\(digest(2).hex)'
      """)
    try stage.begin(at: TierStage.start)
    #expect(stage.answered == [0, 1, 3, 4])
    #expect(stage.news.troubles.isEmpty)
    #expect(stage.tier.count == 1)
    stage.end()
    #expect(try stage.place.answerCount() == 4)
  }

  // MARK: Bounds

  @Test func `many answers are handed on in parts`() throws {
    let stage = try TierStage()
    stage.end()
    let count = 100_000
    try stage.place.fill(count)
    try stage.begin(at: TierStage.start, turning: false)
    var (ticks, last) = (0, 0)
    while stage.hasJobs {
      stage.loop.tick(waiting: true)
      let sum = stage.news.answers.reduce(0) { $0 + $1.count }
      #expect(sum - last <= AnswerWork.mostRead)
      if sum > last { ticks += 1 }
      last = sum
      if sum == count { break }
    }
    #expect(ticks >= count / 64)
    #expect(last == count)
  }

  @Test func `records wait for a slow disk within bounds`() throws {
    let stage = try TierStage()
    let mayGoOn = stage.busyWriter()
    for number in 0..<40 {
      let tags = [String(repeating: "t", count: 500_000)]
      stage.tier.keepAnswer(answer(number, tags: tags, on: stage))
      stage.loop.settle()
      #expect(stage.tier.held.stores < 9 << 20)
    }
    mayGoOn.with { $0 = true }
    stage.turn()
    #expect(stage.tier.held.stores == 0)
    try stage.crash()
    #expect((10..<20).contains(stage.answered.count))
  }

  @Test func `removals without end mean all rows`() throws {
    let stage = try TierStage()
    stage.tier.keepAnswer(answer(0, on: stage))
    stage.turn()
    stage.tier.dropAnswers((0..<131_073).map { KeyDigest(high: 1, low: $0) })
    stage.turn()
    try stage.crash()
    #expect(stage.answered == [])
  }
}
