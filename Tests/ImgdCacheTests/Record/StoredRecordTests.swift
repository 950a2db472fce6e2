import ImgdSystem
import Testing

@testable import ImgdCache

/// An image as a stored record, and back: what matters is the same, at any later time.
struct StoredRecordTests {
  private static let wall: Int64 = 1_800_000_000
  private let headers: HeaderList = [
    ("cache-control", "max-age=3600, stale-while-revalidate=60, stale-if-error=120, immutable"),
    ("etag", "\"abc\""), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("age", "100"),
    ("vary", "accept"),
  ]

  private func stored(
    _ headers: HeaderList? = nil, sent: HeaderList = [("accept", "image/png")], at: Int64 = 0
  ) -> CachedImage {
    let headers = headers ?? self.headers
    return CachedImage.make(
      key: key("https://example.org/a", "id"),
      body: ImageBody(
        Payload(body(100)),
        facts: ImageFacts(format: 2, width: 640, height: 480, frames: 3, orientation: 6),
        description: [1, 2]),
      answer: ImageAnswer(
        StoredResponse(
          status: 203, headers: headers, redirectTarget: "https://example.org/final"),
        freshness: Freshness(status: 203, headers: headers, receivedAt: Self.wall),
        vary: VaryOutcome(varying: varyingNames(headers), sent: sent)),
      tags: ["b", "a"], serial: 7,
      stored: StoredMoment(Instant(nanoseconds: at * 1_000_000_000), wall: Self.wall))
  }

  private func record(of image: CachedImage, now: Int64 = 0) throws -> StoredRecord {
    let record = try #require(
      StoredRecord(image, wall: Self.wall + now, at: .init(seconds: now)))
    let encoded = try #require(RecordCodec.encode(record))
    #expect(RecordCodec.decode(encoded) == record)
    return record
  }

  /// The image that a process finds whose clock begins with this call and says `wall`.
  private func found(_ record: StoredRecord, after time: Int64) -> CachedImage? {
    CachedImage.make(
      record, key: key("https://example.org/a", "id"), payload: Payload(body(100)),
      wall: Self.wall + time, at: .init(seconds: 0))
  }

  @Test func `an image keeps its properties through a stored record`() throws {
    let image = stored()
    let record = try record(of: image)
    let again = try #require(found(record, after: 0))
    #expect(again.response.status == 203)
    #expect(again.response.headers.packed == image.response.headers.packed)
    #expect(again.response.redirectTarget == "https://example.org/final")
    #expect(again.response.entityTag == "\"abc\"")
    #expect(again.response.lastModified == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(again.freshness == image.freshness)
    #expect(again.vary == image.vary)
    #expect(again.isFor(sent: [("accept", "image/png")]))
    #expect(!again.isFor(sent: [("accept", "image/gif")]))
    #expect(again.tags == ["b", "a"])
    #expect(again.description == [1, 2])
    #expect(again.checksum == image.checksum)
    #expect(again.storedAtWall == Self.wall)
    #expect(again.serial == 0)
    #expect(record.isOf(image.key))
  }

  @Test func `a stored record has the facts of the file`() throws {
    let image = stored()
    let record = try record(of: image)
    #expect(record.bytes == 100)
    #expect(record.facts == image.facts)
    #expect(record.digest == KeyDigest(url: "https://example.org/a", identifier: "id"))
    var row = IndexRow(record: record, host: "example.org", suffix: "png", lastAccess: 1)
    row.number = 9
    #expect(row.file?.number == 9)
    #expect(row.file?.suffix == "png")
  }

  @Test(arguments: [
    "max-age=60", "no-cache", "max-age=60, must-revalidate", "max-age=60, immutable",
    "max-age=0, stale-while-revalidate=5", "max-age=60, stale-if-error=0", "public",
  ])
  func `every judgement is read back`(control: String) throws {
    let image = stored([("cache-control", control)])
    let again = try #require(found(record(of: image), after: 0))
    #expect(again.freshness == image.freshness)
    #expect(again.isFresh(at: .init(seconds: 0)) == image.isFresh(at: .init(seconds: 0)))
    #expect(!again.isStale)
  }

  @Test(arguments: [false, true])
  func `an answer without a picture keeps its properties, too`(isPublic: Bool) throws {
    let image = CachedImage.make(
      key: key("https://example.org/a", "id"),
      body: ImageBody(
        Payload([]),
        facts: ImageFacts(format: 255, width: 0, height: 0, frames: 0, orientation: 0)),
      answer: ImageAnswer(
        StoredResponse(status: 301, headers: headers + [("location", "/b")]),
        freshness: Freshness(status: 301, headers: headers, receivedAt: Self.wall),
        vary: VaryOutcome(varying: varyingNames(headers), sent: []), isFromPublicAddress: isPublic),
      tags: ["a"], serial: 7, stored: StoredMoment(.init(seconds: 0), wall: Self.wall))
    let again = try #require(
      CachedImage.make(
        record(of: image), key: image.key, payload: Payload([]), wall: Self.wall + 5,
        at: .init(seconds: 0)))
    #expect(again.response.status == 301)
    #expect(again.response.headers.packed == image.response.headers.packed)
    #expect(again.facts == image.facts)
    #expect(again.byteCount == 0)
    #expect(again.freshness == image.freshness)
    #expect(again.vary == image.vary)
    #expect(again.tags == ["a"])
    #expect(again.age(at: .init(seconds: 0)) == 105)
    #expect(again.isFromPublicAddress == isPublic)
    let renewed = again.renewed(
      answer: ImageAnswer(again.response, freshness: again.freshness), serial: 8,
      stored: StoredMoment(.init(seconds: 1), wall: Self.wall + 6))
    #expect(renewed.isFromPublicAddress == isPublic)
  }

  // MARK: Time

  @Test(arguments: [0, 1, 7_200, 30 * 86_400] as [Int64])
  func `the age of an image continues over a restart`(hours time: Int64) throws {
    let again = try #require(found(record(of: stored()), after: time))
    #expect(again.age(at: .init(seconds: 0)) == 100 + Int(time))
    #expect(again.freshFor(at: .init(seconds: 0)) == max(3_500 - Int(time), 0))
    #expect(again.isFresh(at: .init(seconds: 0)) == (time < 3_500))
    #expect(!again.isStale)
  }

  @Test func `an image that is stale only by age may still be delivered for a while`() throws {
    let again = try #require(found(record(of: stored()), after: 3_510))
    let state = again.state(at: .init(seconds: 0))
    #expect(!state.isFresh)
    #expect(!state.isMarkedStale)
    #expect(state.staleFor == .seconds(10))
    #expect(state.staleWhileRevalidate == .seconds(60))
    #expect(state.staleIfError == .seconds(120))
  }

  @Test(arguments: [-3_600, -365 * 86_400] as [Int64])
  func `a clock that was set back grants no lifetime`(time: Int64) throws {
    let again = try #require(found(record(of: stored()), after: time))
    #expect(!again.isFresh(at: .init(seconds: 0)))
    #expect(again.freshFor(at: .init(seconds: 0)) == 0)
    #expect(again.age(at: .init(seconds: 0)) == 100)
    #expect(again.age(at: .init(seconds: 10)) == 110)
  }

  @Test func `a clock that was ahead makes an image old`() throws {
    let again = try #require(found(record(of: stored()), after: 365 * 86_400))
    #expect(!again.isFresh(at: .init(seconds: 0)))
    #expect(again.age(at: .init(seconds: 0)) == 100 + 365 * 86_400)
  }

  /// An image may have been in memory for a while before it is written.
  @Test(arguments: [0, 600, 7_200] as [Int64])
  func `a record that is written late has the age of its image`(delay: Int64) throws {
    let image = stored()
    let again = try #require(found(record(of: image, now: delay), after: delay))
    #expect(again.age(at: .init(seconds: 0)) == image.age(at: .init(seconds: delay)))
    #expect(again.freshFor(at: .init(seconds: 0)) == image.freshFor(at: .init(seconds: delay)))
    #expect(!again.isStale)
  }

  @Test func `an image with a doubtful time is not fresh when it is written again`() throws {
    let doubtful = try #require(found(record(of: stored()), after: -3_600))
    let record = try #require(
      StoredRecord(doubtful, wall: Self.wall, at: .init(seconds: 0)))
    #expect(found(record, after: 0)?.isFresh(at: .init(seconds: 0)) == false)
  }

  @Test func `an image that a soft purge has marked stays marked`() throws {
    let image = stored()
    image.markStale()
    let again = try #require(found(record(of: image), after: 0))
    #expect(again.isStale)
    #expect(!again.isFresh(at: .init(seconds: 0)))
  }

  @Test func `a purge mark in the file alone marks the image as well`() throws {
    var record = try record(of: stored())
    record.freshUntil = 0
    #expect(found(record, after: 0)?.isStale == true)
  }

  // MARK: Hostile rows

  @Test func `cut headers are refused`() throws {
    let record = try record(of: stored())
    let whole = record.headers
    let ends = fieldEnds(whole)
    for count in 0...whole.count {
      var cut = record
      cut.headers = Array(whole.prefix(count))
      #expect((found(cut, after: 0) != nil) == ends.contains(count), "cut at \(count)")
      cut.headers = whole
      cut.varying = Array(whole.prefix(count))
      #expect((found(cut, after: 0) != nil) == ends.contains(count), "cut at \(count)")
    }
  }

  /// The offsets at which a field, a name and its value, ends.
  private func fieldEnds(_ packed: [UInt8]) -> Set<Int> {
    var (ends, offset, parts) = (Set([0]), 0, 0)
    while offset < packed.count {
      let count = (0..<4).reversed().reduce(0) { $0 << 8 | Int(packed[offset + $1]) }
      offset += 4 + count
      parts += 1
      if parts.isMultiple(of: 2) { ends.insert(offset) }
    }
    return ends
  }

  @Test func `wrong lengths are refused`() throws {
    var record = try record(of: stored())
    for place in 0..<4 {
      record.headers[place] = 0xFF
      #expect(found(record, after: 0) == nil)
    }
  }

  @Test(arguments: [.min, -1, 0, 1 << 40, .max] as [Int64])
  func `excessive numbers do not trap`(number: Int64) throws {
    var record = try record(of: stored())
    record.storedAt = number
    record.freshUntil = number
    record.initialAgeMs = SaneRange.clamped(number)
    record.lifetimeMs = SaneRange.clamped(number)
    record.whileRevalidateMs = SaneRange.clamped(number)
    record.ifErrorMs = SaneRange.clamped(number)
    let image = try #require(found(record, after: 0))
    _ = image.state(at: .init(seconds: 0))
    #expect(image.age(at: .init(seconds: 0)) >= 0)
  }

  @Test func `a record with another key is refused`() throws {
    let record = try record(of: stored())
    #expect(!record.isOf(key("https://example.org/a")))
    #expect(!record.isOf(key("https://example.org/a", "ID")))
    #expect(!record.isOf(key("https://example.org/b", "id")))
  }
}

extension Instant {
  fileprivate init(seconds: Int64) { self.init(nanoseconds: seconds * 1_000_000_000) }
}
