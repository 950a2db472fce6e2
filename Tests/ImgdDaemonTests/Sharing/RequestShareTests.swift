import ImgdCache
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What requests under way may hold, by their number and their bytes.
struct RequestShareTests {
  private static let owner: UInt32 = 900

  private func shares() throws -> RequestShares {
    RequestShares(
      Access(owner: Self.owner), loop: try EventLoop(clock: .manual(at: .current)))
  }

  private func job(
    uid: UInt32, connection: UInt64 = 1, header: Int = 0, receipt: UInt64 = 2
  ) throws -> FetchJob {
    var request = FetchRequest(url: "http://example.org/")
    if header > 0 {
      let value = String(repeating: "v", count: header)
      request.extras.headers = [RequestHeader(name: "x", value: value)]
    }
    let url = try CanonicalURL.parse(request.url)
    let key = CacheKey(url: url, identifier: nil, scope: nil)
    let job = FetchJob(
      receipt: .random(using: (receipt, receipt << 32)), id: .none, request: request, url: url,
      mergeKey: MergeKey(key: key, owner: nil, headers: []), uid: uid, entryTags: [],
      startedAt: Instant(nanoseconds: 0),
      allowance: PictureWish.Allowance(bytes: 1, time: .seconds(1)))
    job.claimant = Claimant(uid: uid, connection: connection)
    return job
  }

  private func refusal(_ shares: RequestShares, _ job: FetchJob) -> String? {
    guard let error = shares.refusal(of: job.weight, from: job.claimant, .standard) else {
      return nil
    }
    #expect(error.code == .tooManyRequests)
    guard case .string(let scope) = error.details.first(where: { $0.name == "of" })?.value else {
      return "?"
    }
    return scope
  }

  @Test func `a connection, a user and all together have limits in bytes`() throws {
    let shares = try shares()
    for (uid, connection, scope) in [
      (1, 1, "connection"), (1, 2, "connection"), (1, 3, "user"), (2, 4, "connection"),
      (2, 5, "connection"), (3, 6, "daemon"),
    ] as [(UInt32, UInt64, String)] {
      let job = try job(uid: uid, connection: connection, header: 60_000)
      while refusal(shares, job) == nil { shares.hold(job) }
      #expect(refusal(shares, job) == scope)
    }
    #expect(shares.total.bytes <= WireLimits.standard.requestBytesOfAll)
  }

  @Test func `a user may have half of the queue, root and the daemon's own user all of it`() throws {
    for (uid, most) in [(1, 50), (0, 100), (Self.owner, 100)] as [(UInt32, Int)] {
      let shares = try shares()
      for _ in 0..<most { shares.hold(try job(uid: uid)) }
      let last = try job(uid: uid)
      #expect(shares.refusal(ofWaiting: last, limit: 100) == nil)
      shares.hold(last)
      let code = shares.refusal(ofWaiting: last, limit: 100)?.code
      #expect(code == (most == 50 ? .tooManyRequests : .queueFull))
      let other = try job(uid: 2)
      shares.hold(other)
      #expect((shares.refusal(ofWaiting: other, limit: 100) == nil) == (most == 50))
    }
  }

  @Test func `what has ended counts no more`() throws {
    let shares = try shares()
    let jobs = try (0..<100).map { try job(uid: 1, connection: $0, header: 1_000) }
    for job in jobs { shares.hold(job) }
    for job in jobs { shares.release(job) }
    #expect((shares.total.requests, shares.total.bytes, shares.isEmpty) == (0, 0, true))
  }

  @Test func `ten thousand small requests fit on a connection, and large ones do not`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/hangs", .silence)
    let small = #"{"cmd":"fetch","url":"\#(stage.base)/hangs"}"#
    let crowd = try stage.connect()
    for _ in 0..<10 { try crowd.send(Array(repeating: small, count: 999).joined(separator: "\n")) }
    #expect(try stage.stats("queue", "requests") == 9_990)
    let filler = String(repeating: "v", count: 60_000)
    let large = #"{"cmd":"fetch","url":"\#(stage.base)/hangs","headers":{"x":"\#(filler)"}}"#
    var client: TestClient? = try stage.connect()
    for _ in 0..<300 { try client?.send(large) }
    let refusal = try #require(try client?.receive())
    #expect(refusal.failureCode == "too_many_requests")
    #expect(refusal["error"]?["details"]?["of"]?.string == "connection")
    #expect(refusal["error"]?["details"]?["limit"]?.integer == 16 << 20)
    #expect(try stage.stats("queue", "bytes") <= 32 << 20)
    client = nil
    #expect(try stage.stats("queue", "requests") == 9_990)
  }

  @Test func `what ten thousand small fetches have held is given back`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/hangs", .silence)
    var client: TestClient? = try stage.connect()
    let line = #"{"cmd":"fetch","url":"\#(stage.base)/hangs"}"#
    for _ in 0..<100 { try client?.send(String(repeating: line + "\n", count: 99) + line) }
    #expect(try stage.stats("queue", "requests") == 10_000)
    #expect(!stage.core.parts.jobs.shares.heap.isDue)
    client = nil
    #expect(try stage.stats("queue", "requests") == 0)
    #expect(stage.core.parts.jobs.shares.heap.isDue)
  }

  @Test func `memory is given back once, a moment after much was freed`() throws {
    let clock = LoopClock.manual(at: .current)
    let loop = try EventLoop(clock: clock)
    var times = 0
    let memory = FreedMemory(loop: loop) { times += 1 }
    func pass(_ time: Duration) {
      loop.settle()
      clock.advance(by: time)
      loop.settle()
    }
    let much = FreedMemory.worthwhile
    for _ in 0..<100_000 { for held in [much / 2, 0] { memory.note(held: held) } }
    pass(.seconds(100))
    #expect(times == 0, "never was much held")
    for held in stride(from: 3 * much, through: 0, by: -much / 8) { memory.note(held: held) }
    pass(.zero)
    #expect(times == 0)
    pass(FreedMemory.delay)
    #expect(times == 1)
    for held in [much, 0] { memory.note(held: held) }
    pass(FreedMemory.pause - .seconds(1))
    #expect(times == 1, "not so soon again")
    pass(.seconds(1))
    #expect(times == 2)
  }

  @Test func `a user may have half of the kept outcomes`() throws {
    var kept = KeptOutcomes(mostBytes: 10 << 20, Access(owner: Self.owner))
    let now = Instant(nanoseconds: 0)
    func keep(_ number: UInt64, uid: UInt32) throws -> ReceiptID {
      let job = try job(uid: uid, receipt: number)
      kept.keep(.failure(FetchFailure(error: .cancelled())), of: job, at: now)
      return job.receipt
    }
    let other = try keep(1, uid: 2)
    let receipts = try (2...3_000).map { try keep($0, uid: 1) }
    #expect(kept.find(other, at: now) != nil)
    #expect(receipts.filter { kept.find($0, at: now) != nil } == Array(receipts.suffix(500)))
    let owned = try (4_000...7_000).map { try keep($0, uid: Self.owner) }
    #expect(owned.filter { kept.find($0, at: now) != nil }.count == 1_000)
  }
}

/// Connections of one user, and of the others.
struct ClientPlacesTests {
  @Test func `a user may have half of the connections, and the others the rest`() {
    var places = ClientPlaces(limit: 10, Access(owner: 900))
    for _ in 0..<5 {
      #expect(places.reachedLimit(for: 1) == nil)
      places.occupy(for: 1)
    }
    #expect(places.reachedLimit(for: 1)?.scope == .user)
    for _ in 0..<5 { places.occupy(for: 2) }
    #expect(places.reachedLimit(for: 3)?.scope == .daemon)
    #expect(places.reachedLimit(for: 0) == nil, "a few more are for root")
    places.giveBack(of: 1)
    #expect(places.reachedLimit(for: 1) == nil)
  }

  @Test(arguments: [0, 900] as [UInt32])
  func `the daemon's own user may have all`(owner: UInt32) {
    var places = ClientPlaces(limit: 4, Access(owner: owner))
    for _ in 0..<4 {
      #expect(places.reachedLimit(for: owner) == nil)
      places.occupy(for: owner)
    }
    #expect(places.reachedLimit(for: owner)?.limit == 4)
  }
}
