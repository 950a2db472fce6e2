import ImgdSystem
import Testing

@testable import ImgdCache

/// Images of the memory tier after a purge, before they are swept away.
struct PurgeInForceTests {
  private let tier = MemoryTier.holding(1_000_000)
  private let meant = image("http://h/a")
  private let other = image("http://i/b")

  init() {
    for image in [meant, other] { _ = tier.add(image, at: at(0)) }
  }

  private func purge(
    isSoft: Bool = false, _ change: (inout PurgeFilter) -> Void = { $0.host = "h" }
  ) -> PurgeList.Row {
    var filter = PurgeFilter()
    change(&filter)
    return tier.purges.add(filter, isSoft: isSoft, from: .memory, at: at(10))
  }

  private func sweep(after row: PurgeList.Row) -> Int {
    var sweep = tier.beginSweep(after: row)
    while tier.goOn(with: &sweep) {}
    tier.purges.endSweep(after: row)
    return sweep.removal.entries
  }

  @Test func `a purged image is not found any more, and the sweep counts it`() {
    let row = purge()
    #expect(tier.peek(meant.key) == nil && tier.image(for: meant.key, at: at(10)) == nil)
    #expect(tier.readyImage(for: "http://h/a", identifier: nil, at: at(10)) == nil)
    #expect(tier.peekReady("http://h/a".utf8.span, at: at(10)) == nil)
    #expect(tier.page(after: nil, limit: 9).images.map(\.url.text) == ["http://i/b"])
    #expect(tier.peek(other.key) === other)
    #expect(tier.count == 2)
    #expect(sweep(after: row) == 1)
    #expect(tier.count == 1)
  }

  @Test func `a soft purge marks an image that is found, and the sweep counts it`() {
    let row = purge(isSoft: true)
    #expect(tier.readyImage(for: "http://h/a", identifier: nil, at: at(10)) == nil)
    #expect(tier.peek(meant.key) === meant && meant.isStale)
    #expect(tier.peek(other.key) === other && !other.isStale)
    #expect(sweep(after: row) == 1)
  }

  @Test func `an image is compared with a purge once`() {
    let row = purge()
    _ = tier.peek(other.key)
    #expect(other.checked == row.number && meant.checked < row.number)
    _ = sweep(after: row)
    let second = purge { $0.host = "j" }
    _ = sweep(after: second)
    _ = tier.peek(other.key)
    #expect(other.checked == second.number)
  }

  @Test func `an image that has come since in another's place stays`() {
    let row = purge()
    let new = image("http://h/a", serial: 2)
    #expect(tier.add(new, at: at(10)).isStored)
    #expect(sweep(after: row) == 0)
    #expect(tier.peek(new.key) === new)
  }

  @Test(arguments: [false, true])
  func `an image on its way is compared when it is stored`(isSoft: Bool) {
    _ = sweep(after: purge(isSoft: isSoft))
    for (url, isMeant) in [("http://h/c", true), ("http://i/c", false)] {
      let late = image(url)
      late.checked = 0
      let answer = tier.add(late, at: at(20))
      #expect(answer == (isMeant && !isSoft ? .refused(.purged) : .stored(evicted: .none)))
      #expect(late.isStale == (isMeant && isSoft))
    }
  }

  /// Looking at an image does not keep it from the sweep: whether it is meant the tier alone says.
  @Test func `a purge by state is carried out by the sweep alone`() {
    let old = image(key("http://h/old"), headers: [("cache-control", "max-age=5")])
    _ = tier.add(old, at: at(0))
    let row = purge { $0.expired = true }
    #expect(tier.peek(old.key) === old)
    #expect(sweep(after: row) == 1)
    #expect(tier.peek(old.key) == nil && tier.peek(meant.key) === meant)
  }

  /// However long ago it was last looked at, and however many purges came since.
  @Test func `an image that was not meant is found while another purge is swept`() {
    for number in 0..<PurgeList.most + 10 {
      tier.purges.endSweep(after: purge { $0.host = "x\(number)" })
    }
    let row = purge()
    #expect(other.checked == 0)
    #expect(tier.peek(other.key) === other)
    #expect(sweep(after: row) == 1)
  }

  @Test func `a look at a picture on its way to disk does not bring it back to memory`() throws {
    let stage = try TierStage()
    let purges = stage.tier.purges
    let memory = MemoryTier(
      limits: MemoryTier.Limits(capacity: 1 << 20, preferred: 1 << 20, maxEntry: 1 << 20),
      purges: purges)
    let picture = photo(url(1), on: stage)
    #expect(memory.add(picture, at: stage.now).isStored)
    #expect(stage.tier.add(picture) == nil)
    _ = purges.add(PurgeFilter(), isSoft: false, from: .memory, at: stage.now)
    guard case .now(let found?) = stage.tier.fetch(picture.key, then: { _ in }) else {
      Issue.record("a purge of memory leaves the disk alone")
      return
    }
    #expect(found === picture && memory.peek(picture.key) == nil)
  }
}
