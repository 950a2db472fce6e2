import ImgdSystem
import Testing

@testable import ImgdCache

/// Images whose bytes go before their forms.
struct MemorySheddingTests {
  private static let size = 40_000

  private let tier = MemoryTier(
    limits: MemoryTier.Limits(capacity: 1 << 20, preferred: 1 << 20, maxEntry: 1 << 20))

  private func picture(_ number: Int, serial: UInt64 = 1) -> CachedImage {
    CachedImage.make(
      key: key(url(number)),
      body: ImageBody(
        Payload([UInt8](repeating: UInt8(number), count: Self.size)),
        facts: ImageFacts(format: 1, width: 8, height: 8, frames: 1, orientation: 1)),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: fresh),
        freshness: Freshness(status: 200, headers: fresh, receivedAt: 0)),
      tags: ["page"], serial: serial, checked: tier.purges.newest, stored: StoredMoment(at(0), wall: 0))
  }

  private func form(of picture: CachedImage) -> CachedImage {
    picture.derived(
      key: picture.key.made(of: picture.checksum, form: "small"),
      body: ImageBody(
        Payload([UInt8](repeating: 3, count: 500)),
        facts: ImageFacts(format: 1, width: 2, height: 2, frames: 1, orientation: 1)),
      checked: picture.checked)
  }

  /// Pictures with their forms, the lower the number the longer ago.
  private func fill(_ count: Int) -> [CachedImage] {
    (0..<count).map { number in
      let picture = picture(number)
      let form = form(of: picture)
      _ = tier.add(picture, at: at(Int64(number)))
      _ = tier.add(form, at: at(Int64(number)))
      _ = tier.keepPlace(of: form, as: "small", with: picture)
      return picture
    }
  }

  private func limit(to capacity: Int) -> Removal {
    tier.apply(MemoryTier.Limits(capacity: capacity, preferred: capacity, maxEntry: capacity))
  }

  private func whole(_ count: Int) -> [Int] {
    (0..<count).filter { tier.peek(key(url($0)))?.hasBody == true }
  }

  @Test func `bytes go first, the oldest before others, and forms stay`() throws {
    let pictures = fill(6)
    let removal = limit(to: 100_000)
    #expect(tier.count == 12 && whole(6) == [4, 5])
    #expect(removal.entries == 4 && removal.bytes > 4 * (Self.size - 1_000))
    #expect(tier.usage <= 100_000)
    for number in 0..<6 {
      let record = try #require(tier.peek(key(url(number))))
      #expect(tier.form("small", of: record) != nil && record.byteCount == Self.size)
      #expect(record.tags == ["page"] && record.response.entityTag == "\"1\"")
    }
    // Who holds a picture keeps it whole.
    #expect(pictures[0].hasBody && pictures[0].payload.count == Self.size)
    #expect(tier.readyImage(for: url(0), identifier: nil, at: at(6)) == nil)
    #expect(!tier.holds(url(0), identifier: nil) && tier.holds(url(5), identifier: nil))
  }

  @Test func `a picture that is used itself keeps its bytes, until another form is made`() {
    let pictures = fill(6)
    tier.noteUse(of: pictures[0], at: at(7))
    _ = limit(to: 60_000)
    #expect(whole(6) == [0])
    _ = tier.keepPlace(of: form(of: pictures[0]), as: "none", with: pictures[0])
    #expect(whole(6) == [0])
    let other = form(of: pictures[0])
    _ = tier.add(other, at: at(8))
    _ = tier.keepPlace(of: other, as: "small", with: pictures[0])
    _ = limit(to: 30_000)
    #expect(whole(6).isEmpty && tier.count == 12)
  }

  @Test func `bytes come back, from wherever they come`() {
    _ = fill(1)
    _ = limit(to: 20_000)
    #expect(whole(1).isEmpty)
    _ = limit(to: 1 << 20)
    // From disk, where nobody knows which transfer brought them.
    #expect(tier.add(picture(0, serial: 0), at: at(2)).isStored)
    #expect(whole(1) == [0] && tier.count == 2)
    let other = CachedImage.make(
      key: key(url(0)), body: ImageBody(Payload([1]), facts: picture(0).facts),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: fresh),
        freshness: Freshness(status: 200, headers: fresh, receivedAt: 0)), serial: 0,
      stored: StoredMoment(at(0), wall: 0))
    #expect(tier.add(other, at: at(3)).isStored)
  }

  @Test func `a purge takes facts and forms`() {
    _ = fill(3)
    _ = limit(to: 20_000)
    var filter = PurgeFilter()
    filter.tag = "page"
    let row = tier.purges.add(filter, isSoft: false, from: .memory, at: at(9))
    #expect(tier.peek(key(url(0))) == nil)
    var sweep = tier.beginSweep(after: row)
    while tier.goOn(with: &sweep) {}
    #expect(tier.count == 0 && tier.usage == 0)
  }
}
