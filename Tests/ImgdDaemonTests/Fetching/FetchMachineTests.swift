import ImgdSystem
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

/// What becomes of a fetch, event by event, without caches, a loop or a connection.
struct FetchMachineTests {
  private static let url = "http://a.example/p.png"
  private static let refusal = FetchFailure(
    error: WireError(.httpStatus, "503"), isOfOrigin: true)

  /// A machine, and the steps that it has given as words.
  private struct Course {
    var machine: FetchMachine
    var now = Instant(nanoseconds: 0)
    var purged: [CachedImage] = []
    var isOffline = false

    init(
      _ mode: CacheMode = .default_, headers: [HeaderField] = [], isRefresh: Bool = false
    ) throws {
      let key = CacheKey(
        url: try CanonicalURL.parse(FetchMachineTests.url), identifier: nil, scope: nil)
      machine = FetchMachine(
        to: MergeKey(key: key, owner: nil, headers: headers), mode: mode, isRefresh: isRefresh,
        uid: 0)
    }

    mutating func step(_ event: FetchMachine.Event) -> String {
      let circumstances = FetchMachine.Circumstances(
        now: now, rules: FreshnessRules(), mostRedirects: 1,
        isPurged: { [purged] image in purged.contains { $0 === image } },
        keyURL: { $0 }, isOffline: { [isOffline] _ in isOffline })
      return machine.step(after: event, in: circumstances).word
    }
  }

  /// What is stored, with a lifetime of so many seconds.
  private func stored(
    _ control: String = "max-age=10", status: Int = 200, leadsTo target: String? = nil,
    serial: UInt64 = 1
  ) throws -> CachedImage {
    let headers: HeaderList = [("cache-control", control), ("etag", "\"1\"")]
    let isPicture = status == 200
    return CachedImage.make(
      key: CacheKey(url: try CanonicalURL.parse(Self.url), identifier: nil, scope: nil),
      body: isPicture
        ? ImageBody(
          Payload([1]),
          facts: ImageFacts(format: 1, width: 1, height: 1, frames: 1, orientation: 1))
        : ImageBody(Payload([]), facts: .none, checksum: .unknown),
      answer: ImageAnswer(
        StoredResponse(status: status, headers: headers, redirectTarget: target),
        freshness: Freshness(status: status, headers: headers, receivedAt: 0),
        vary: VaryOutcome(varying: [], sent: [])),
      tags: [], serial: serial, stored: StoredMoment(Instant(nanoseconds: 0), wall: 0))
  }

  private func found(
    _ image: CachedImage, in source: DeliveredImage.Source = .memory
  ) -> FetchMachine.Event {
    .found(DeliveredImage(image: image, source: source))
  }

  private func inFleet(_ image: CachedImage, for course: Course) -> FetchMachine.Event {
    let name = FleetLookup.Name(key: course.machine.route.mergeKey, purpose: .claiming)
    let lookup = FleetLookup(serial: 9, .claiming, name, arrival: nil, checked: 0, at: course.now) { _, _, _ in
      .nothing(nil)
    }
    return .fleet(.picture(FleetFound(image, stamp: 7, for: lookup)))
  }

  private let late = Instant(nanoseconds: 60_000_000_000)

  // MARK: Caches

  @Test("nothing anywhere: forms, pictures, answers, the fleet, the origin, in this order")
  func nothing() throws {
    var course = try Course()
    #expect(course.step(.begun) == "findMade")
    #expect(course.step(.made(nil)) == "find")
    #expect(course.step(.found(nil)) == "recall")
    #expect(course.step(.recalled(nil)) == "askFleet")
    #expect(course.step(.fleet(.nothing(nil))) == "download")
    #expect(course.machine.isMiss)
  }

  @Test("a form that was made before is shown, and the picture not read")
  func made() throws {
    var course = try Course()
    _ = course.step(.begun)
    #expect(course.step(.made(DeliveredImage(image: try stored(), source: .disk))) == "show")
  }

  @Test("under a condition of the client's no form is looked for")
  func condition() throws {
    var course = try Course(headers: [HeaderField("if-none-match", "\"1\"")])
    #expect(course.step(.begun) == "find")
  }

  @Test(
    "what is stored is used, confirmed or loaded as the mode says",
    arguments: [
      ("default", "show", "recall"), ("force-cache", "show", "show"),
      ("only-if-cached", "show", "show"), ("no-cache", "recall", "recall"),
    ])
  func modes(mode: String, fresh: String, stale: String) throws {
    let mode = try #require(CacheMode(rawValue: mode))
    var course = try Course(mode)
    #expect(course.step(found(try stored(), in: .disk)) == fresh)
    course.now = late
    #expect(course.step(found(try stored(), in: .disk)) == stale)
  }

  @Test(
    "reload and no-store read nothing, and ask as if nothing were stored",
    arguments: [
      CacheMode.reload, .noStore,
    ])
  func reload(mode: CacheMode) throws {
    var course = try Course(mode)
    #expect(course.step(.begun) == "recall")
    #expect(course.step(.recalled(nil)) == "askFleet")
    #expect(!course.machine.isMiss)
    #expect(course.machine.offered == nil)
  }

  @Test("a stale picture within stale-while-revalidate is shown, and confirmed afterwards")
  func meanwhile() throws {
    var course = try Course()
    course.now = late
    let image = try stored("max-age=10, stale-while-revalidate=600")
    #expect(course.step(found(image)) == "show, confirm")
  }

  @Test("a stale picture in memory is offered to the origin, and counts as a miss there")
  func confirmed() throws {
    var course = try Course()
    course.now = late
    let image = try stored()
    #expect(course.step(found(image, in: .disk)) == "recall")
    #expect(!course.machine.isMiss)
    #expect(course.step(found(image, in: .memory)) == "recall, missed in memory")
    #expect(course.machine.isMiss)
    #expect(course.machine.offered === image)
    #expect(course.machine.fallback == nil)
  }

  @Test("a stale picture stands in for its origin as long as that has granted it")
  func fallback() throws {
    var course = try Course()
    course.now = late
    _ = course.step(found(try stored("max-age=10, stale-if-error=600")))
    #expect(course.machine.fallback?.isStale == true)
    course.machine.forgetStored()
    #expect(course.machine.fallback == nil)
    #expect(course.machine.offered == nil)
  }

  // MARK: Only what is stored

  @Test(
    "who wants nothing downloaded gets what the fleet or an earlier answer has, or not_cached",
    arguments: [
      CacheMode.onlyIfCached, .peek,
    ])
  func onlyStored(mode: CacheMode) throws {
    var course = try Course(mode)
    #expect(course.step(.found(nil)) == "askFleet")
    #expect(course.step(.fleet(.replaceable(stamp: 1))) == "recall")
    #expect(course.step(.recalled(nil)) == "end: not_cached")
  }

  // MARK: Answers without a picture

  @Test("a remembered failure ends the fetch, a redirect leads it on as if it had begun there")
  func recalled() throws {
    var course = try Course()
    let failure = try stored(status: 404)
    #expect(course.step(.recalled(.answer(failure))) == "give")
    #expect(course.step(.given(failure)) == "end: http_status")
    let redirect = try stored(status: 301, leadsTo: "http://b.example/q.png")
    #expect(course.step(.recalled(.answer(redirect))) == "give")
    #expect(course.step(.given(redirect)) == "findMade")
    #expect(course.machine.route.finalURL == "http://b.example/q.png")
    #expect(course.step(.given(redirect)) == "end: too_many_redirects")
  }

  @Test("who takes pictures of any age wants no stale failure, but a stale redirect")
  func staleAnswers() throws {
    var course = try Course(.forceCache)
    course.now = late
    #expect(course.step(.recalled(.answer(try stored(status: 404)))) == "askFleet")
    let redirect = try stored(status: 301, leadsTo: "http://b.example/q.png")
    #expect(course.step(.recalled(.answer(redirect))) == "give")
  }

  @Test("a stale failure stands in for an origin in trouble, until a redirect leads elsewhere")
  func staleAnswerStandsIn() throws {
    var course = try Course()
    course.now = late
    let answer = try stored("max-age=10, stale-if-error=600", status: 404)
    #expect(course.step(.recalled(.answer(answer))) == "askFleet")
    #expect(course.step(.settled(.ended(.failure(Self.refusal)))) == "give")
    let redirect = Redirect(target: "http://b.example/q.png", isFromPublicAddress: true)
    #expect(course.step(.settled(.redirected(redirect))) == "findMade")
    #expect(course.step(.settled(.ended(.failure(Self.refusal)))) == "end: http_status")
  }

  @Test("a name that was unknown a moment ago is not looked up again")
  func unknownName() throws {
    var course = try Course()
    let failure = FetchFailure(error: WireError(.dns, "no such name"))
    #expect(course.step(.recalled(.unknownName(failure))) == "end: dns")
  }

  // MARK: The fleet

  @Test("a picture of the fleet is shown when it is of use, and otherwise claimed once")
  func fleet() throws {
    var course = try Course()
    let image = try stored(serial: 2)
    #expect(course.step(inFleet(image, for: course)) == "show of the fleet")
    course.now = late
    #expect(course.step(inFleet(image, for: course)) == "claim 7")
    #expect(course.machine.offered === image)
    #expect(course.step(inFleet(image, for: course)) == "download")
  }

  @Test("what is stored here and newer is offered in place of the fleet's")
  func olderInFleet() throws {
    var course = try Course()
    course.now = late
    let mine = try stored(serial: 5)
    _ = course.step(found(mine, in: .disk))
    #expect(course.step(inFleet(try stored(serial: 2), for: course)) == "claim 7")
    #expect(course.machine.offered === mine)
  }

  @Test("what was purged while the fleet was asked is not offered, and stands in for nothing")
  func purgedMeanwhile() throws {
    var course = try Course()
    course.now = late
    let mine = try stored("max-age=10, stale-if-error=600", serial: 5)
    _ = course.step(found(mine, in: .disk))
    course.purged = [mine]
    #expect(course.step(.fleet(.nothing(nil))) == "download")
    #expect(course.machine.offered == nil)
    #expect(course.machine.fallback == nil)
    let other = try stored(serial: 6)
    course.purged = [other]
    #expect(course.step(inFleet(other, for: course)) == "claim 7")
    #expect(course.machine.offered == nil)
  }

  @Test("who has waited for another host's download looks into the caches first")
  func earlier() throws {
    var course = try Course()
    #expect(course.step(.fleet(.nothingEarlier)) == "find")
  }

  @Test("a refresh confirms what was shown, and not what its redirect leads to")
  func redirectedRefresh() throws {
    var course = try Course(.noCache, isRefresh: true)
    #expect(course.step(.begunToConfirm(nil)) == "recall")
    let redirect = Redirect(target: "http://b.example/q.png", isFromPublicAddress: true)
    #expect(course.step(.settled(.redirected(redirect))) == "findMade")
    #expect(course.step(found(try stored(), in: .disk)) == "show")
  }

  @Test("a refresh takes of the fleet only what need not be confirmed")
  func refresh() throws {
    var course = try Course(.default_, isRefresh: true)
    course.now = late
    let image = try stored("max-age=10, stale-while-revalidate=600")
    #expect(course.step(.begunToConfirm(image)) == "recall")
    #expect(!course.machine.isMiss)
    #expect(
      course.step(
        inFleet(try stored("max-age=10, stale-while-revalidate=600", serial: 2), for: course))
        == "claim 7")
  }
}

// Pictures whose bytes have gone.
extension FetchMachineTests {
  private func record(_ image: CachedImage) -> CachedImage {
    CachedImage.make(
      key: image.key,
      body: ImageBody(away: 1, facts: image.facts, checksum: image.checksum, description: []),
      answer: ImageAnswer(image.response, freshness: image.freshness), serial: image.serial,
      stored: StoredMoment(image.storedAt, wall: image.storedAtWall))
  }

  private func formed(_ record: CachedImage, _ source: DeliveredImage.Source = .disk)
    -> DeliveredImage
  {
    var found = DeliveredImage(image: record, source: source)
    found.form = DeliveredImage.Form(image: record, source: .disk)
    return found
  }

  private func formedEvent(_ record: CachedImage, _ source: DeliveredImage.Source = .disk)
    -> FetchMachine.Event
  { .formed(formed(record, source), of: DeliveredImage(image: record, source: source)) }

  private func formlessEvent(_ record: CachedImage, _ source: DeliveredImage.Source = .disk)
    -> FetchMachine.Event
  { .formed(nil, of: DeliveredImage(image: record, source: source)) }

  @Test("what memory has without bytes or form may be whole on disk")
  func elsewhere() throws {
    let record = record(try stored())
    var course = try Course()
    #expect(course.step(found(record)) == "findForm")
    #expect(course.step(formlessEvent(record, .memory)) == "findBytes")
    #expect(course.step(found(try stored(), in: .disk)) == "show")
    #expect(course.step(found(record, in: .disk)) == "findForm")
    #expect(course.step(formlessEvent(record)) == "recall")
  }

  @Test("without its bytes, the form is looked for before anything is decided")
  func bodiless() throws {
    let record = record(try stored())
    var course = try Course()
    #expect(course.step(found(record, in: .disk)) == "findForm")
    #expect(course.step(formedEvent(record)) == "show")
    course.now = late
    #expect(course.step(found(record, in: .disk)) == "findForm")
    #expect(course.step(formedEvent(record)) == "recall")
    #expect(course.machine.offered === record)
    #expect(course.step(.recalled(nil)) == "askFleet")
    #expect(course.step(.fleet(.nothing(nil))) == "download")
    let confirmed = DeliveredImage(image: record, source: .revalidated)
    #expect(course.step(.settled(.ended(.image(confirmed)))) == "findForm")
    #expect(course.step(formedEvent(record, .revalidated)) == "end")
  }

  @Test("without the form, it is as if nothing were stored, before a confirmation and after it")
  func formless() throws {
    let record = record(try stored())
    var course = try Course()
    course.now = late
    #expect(course.step(found(record, in: .disk)) == "findForm")
    #expect(course.step(formlessEvent(record)) == "recall")
    #expect(course.machine.offered == nil && course.machine.isMiss)
    _ = course.step(found(record, in: .disk))
    _ = course.step(formedEvent(record))
    let confirmed = DeliveredImage(image: record, source: .revalidated)
    #expect(course.step(.settled(.ended(.image(confirmed)))) == "findForm")
    #expect(course.step(formlessEvent(record)) == "recall")
    #expect(course.machine.offered == nil)
    var stored = try Course(.onlyIfCached)
    #expect(stored.step(found(record, in: .disk)) == "findForm")
    #expect(stored.step(formlessEvent(record)) == "askFleet")
  }

  @Test("without a network a stale picture is shown, and not confirmed afterwards")
  func offline() throws {
    var course = try Course()
    (course.now, course.isOffline) = (late, true)
    #expect(course.step(found(try stored("max-age=10, stale-while-revalidate=1000"))) == "show")
    #expect(course.step(found(try stored("max-age=10, must-revalidate"))) == "recall, missed in memory")
  }

  @Test("without a network a stale redirect is followed, and a stale failure is asked for again")
  func offlineAnswers() throws {
    var course = try Course()
    (course.now, course.isOffline) = (late, true)
    let redirect = try stored(status: 302, leadsTo: "http://b.example/p.png")
    #expect(course.step(.recalled(.answer(redirect))) == "give")
    #expect(course.step(.recalled(.answer(try stored(status: 404)))) == "askFleet")
  }

  @Test("an interrupted download is begun again, but for the daemon itself")
  func interruption() throws {
    var course = try Course()
    #expect(course.step(.settled(.interrupted)) == "download")
    #expect(course.machine.wasInterrupted)
    course.now = late
    _ = course.step(found(try stored()))
    #expect(course.step(.settled(.interrupted)) == "findMade")
    var refresh = try Course(.noCache, isRefresh: true)
    #expect(refresh.step(.settled(.interrupted)) == "end: offline")
  }

  @Test("nobody waits for the form of what the daemon itself has had confirmed")
  func refreshed() throws {
    let record = record(try stored())
    var course = try Course(.noCache, isRefresh: true)
    #expect(course.step(.begunToConfirm(record)) == "recall")
    let confirmed = DeliveredImage(image: record, source: .revalidated)
    #expect(course.step(.settled(.ended(.image(confirmed)))) == "end")
  }
}

extension FetchMachine.Step {
  fileprivate var word: String {
    switch self {
    case .findMade: "findMade"
    case .showHanded: "showHanded"
    case .find: "find"
    case .findForm: "findForm"
    case .findBytes: "findBytes"
    case .show(_, let confirmsLater): confirmsLater ? "show, confirm" : "show"
    case .showOfFleet(_, let confirmsLater):
      confirmsLater ? "show of the fleet, confirm" : "show of the fleet"
    case .recall(let missesMemory): missesMemory ? "recall, missed in memory" : "recall"
    case .give(_, let confirmsLater): confirmsLater ? "give, confirm" : "give"
    case .giveOfFleet: "give of the fleet"
    case .askFleet: "askFleet"
    case .claim(let stamp): "claim \(stamp)"
    case .download: "download"
    case .end(.failure(let failure)): "end: \(failure.error.code.rawValue)"
    case .end: "end"
    }
  }
}
