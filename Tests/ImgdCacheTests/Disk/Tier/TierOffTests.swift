import ImgdSystem
import Testing

@testable import ImgdCache

/// A tier that is off answers like an empty one, at once, and has no threads to ask.
struct TierOffTests {
  private let loop: EventLoop
  private let tier: DiskTier
  private let picture = image(url(1))

  init() throws {
    loop = try EventLoop(clock: .manual())
    tier = DiskTier(offOn: loop)
  }

  @Test func `is off for no reason, and neither opens nor loads anything`() {
    #expect(tier.state == .off && tier.reason == nil)
    #expect(!tier.isOpening && !tier.isLoading && !tier.parts.index.isLoaded)
    #expect(tier.count == 0 && tier.allocated == 0 && tier.lentBytes == 0)
    #expect(tier.held == HeldBytes())
  }

  @Test func `finds nothing, and counts no look-up`() {
    #expect(!tier.mayHold(picture.key) && !tier.mayHaveVariants(of: picture.key))
    #expect(tier.storedAt(picture.key) == nil)
    #expect(tier.glance(at: picture.key, countsAsUse: true) == nil)
    if case .now(nil) = tier.fetch(picture.key, then: { _ in }) {
    } else {
      Issue.record("a picture is looked for")
    }
    tier.purge(PurgeFilter(), soft: false) { _ in }
    #expect(tier.counts == DiskCounts())
  }

  @Test func `lists nothing, in the same call`() {
    var pages: [EntryPage] = []
    tier.page(after: nil, limit: 9) { pages.append($0) }
    #expect(pages.count == 1 && pages[0].entries.isEmpty && pages[0].next == nil)
    var found: [EntryDetails?] = []
    tier.look(for: picture.key) { found.append($0) }
    #expect(found.count == 1 && found[0] == nil)
    var variants: [Variant]?
    tier.variants(of: picture.key) { variants = $0 }
    #expect(variants?.isEmpty == true)
  }

  @Test func `refuses a picture whatever it is, and has nobody wait for one`() {
    #expect(tier.parts.stores.refusal(of: picture) == .off)
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    #expect(tier.parts.stores.refusal(of: image(key(url(1), nil, scope))) == .off)
    #expect(!tier.lendAgain(picture) && !tier.holds(picture))
    tier.renew(picture)
    var isSettled = false
    tier.whenSettled(picture) { isSettled = true }
    #expect(isSettled)
  }

  @Test func `takes no limits, and answers for its threads`() {
    tier.apply(.roomy)
    #expect(tier.limits == .none)
    var answers = 0
    tier.askWriterForLife { answers += 1 }
    tier.askReaderForLife { answers += 1 }
    #expect(answers == 2)
    tier.onNews = { _ in Issue.record("there are news") }
    tier.lookForDirectory()
    tier.giveBack { Issue.record("there are no pages") }
    loop.settle()
    tier.stop()
  }
}
