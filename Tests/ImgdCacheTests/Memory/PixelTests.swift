import Glibc
@testable import ImgdCache
import ImgdSystem
import Testing

/// Decoded pictures in the memory tier.
struct PixelTests {
  private func pixels(of original: CachedImage, bytes: Int = 4_000) -> CachedImage {
    original.derived(
      key: original.key.made(of: original.checksum, form: "pixels"),
      body: ImageBody(
        Payload([UInt8](repeating: 1, count: bytes)), facts: original.facts, checksum: .unknown,
        isPixels: true), checked: 0)
  }

  private func tier() -> (tier: MemoryTier, original: CachedImage, pixels: CachedImage) {
    let tier = MemoryTier.holding(1 << 20)
    let original = image("https://h/a")
    let pixels = pixels(of: original)
    for image in [original, pixels] { #expect(tier.add(image, at: at(0)).isStored) }
    return (tier, original, pixels)
  }

  @Test func `pixels are counted as long as they are there`() {
    let (tier, original, _) = tier()
    #expect(tier.pixelBytes == 4_000)
    #expect(tier.add(pixels(of: original, bytes: 5_000), at: at(0)).isStored)
    #expect(tier.pixelBytes == 5_000)
    _ = tier.remove(pixels(of: original).key)
    #expect(tier.pixelBytes == 0)
  }

  @Test func `pixels can be removed alone`() {
    let (tier, original, pixels) = tier()
    var purge = tier.beginRemovalOfPixels()
    while tier.goOn(with: &purge) {}
    #expect(purge.removal.entries == 1)
    #expect(tier.peek(pixels.key) == nil && tier.peek(original.key) === original)
    #expect(tier.counts.purges == 0)
  }

  @Test func `a form is found with its picture for as long as it is there`() {
    let (tier, original, pixels) = tier()
    #expect(tier.form("pixels", of: original) == nil)
    #expect(tier.keepPlace(of: pixels, as: "pixels", with: original) == .none)
    #expect(tier.form("pixels", of: original) === pixels && tier.form("other", of: original) == nil)
    _ = tier.remove(pixels.key)
    #expect(tier.form("pixels", of: original) == nil)
    // Another image has its place now.
    let other = image("https://h/b")
    #expect(tier.add(other, at: at(0)).isStored)
    #expect(other.place == 1 && tier.form("pixels", of: original) == nil)
    expectSound(tier)
  }

  @Test func `of a picture a few forms are known, and charged to it`() {
    let (tier, original, _) = tier()
    let forms = (0..<MadeForm.most + 2).map { number in
      original.derived(
        key: original.key.made(of: original.checksum, form: "\(number)"),
        body: ImageBody(Payload([0]), facts: original.facts), checked: 0)
    }
    let before = original.cost
    for (number, form) in forms.enumerated() {
      #expect(tier.add(form, at: at(0)).isStored)
      for _ in 0..<2 { _ = tier.keepPlace(of: form, as: "\(number)", with: original) }
    }
    let known = forms.indices.filter { tier.form("\($0)", of: original) === forms[$0] }
    #expect(known == Array(2..<MadeForm.most + 2))
    #expect(original.cost >= before + MadeForm.most * MadeForm.bookkeeping)
    expectSound(tier)
  }

  @Test func `a form that was purged is not found with its picture`() {
    let (tier, original, pixels) = tier()
    _ = tier.keepPlace(of: pixels, as: "pixels", with: original)
    var filter = PurgeFilter()
    filter.host = "h"
    _ = tier.purges.add(filter, isSoft: false, from: .memory, at: at(0))
    #expect(tier.form("pixels", of: original) == nil)
  }

  @Test func `pixels are given up in the order of their use, some at a time`() {
    let tier = MemoryTier.holding(1 << 30)
    let all = (0..<70).map { pixels(of: image("https://h/\($0)")) }
    for image in all { #expect(tier.add(image, at: at(0)).isStored) }
    #expect(tier.add(image("https://h/x"), at: at(0)).isStored)
    for number in [0, 5] { #expect(tier.image(for: all[number].key, at: at(1)) != nil) }
    #expect(tier.remove(all[3].key) != nil)
    let left = { all.indices.filter { tier.peek(all[$0].key) != nil } }
    #expect(tier.giveUpPixels().entries == 32)
    #expect(left() == [0, 5] + Array(35..<70))
    #expect(tier.giveUpPixels().entries == 32)
    #expect(left() == [0, 5, 67, 68, 69])
    #expect(tier.giveUpPixels().entries == 5)
    #expect(tier.giveUpPixels() == .none)
    #expect(tier.count == 1 && tier.counts.evictions == 69)
  }

  @Test func `pixels do not stay with one of the last descriptors`() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let original = image("https://h/a")
      func pixels(_ bytes: Int) throws -> CachedImage {
        original.derived(
          key: original.key.made(of: original.checksum, form: "\(bytes)"),
          body: ImageBody(
            try Payload([UInt8](repeating: 1, count: bytes)).shareable(), facts: original.facts,
            checksum: .unknown, isPixels: true), checked: 0)
      }
      var low: [CachedImage] = []
      while low.last?.takesReserve != true { low.append(try pixels(4_000)) }
      let tier = MemoryTier.holding(1 << 30)
      try #require(tier.add(low[low.count - 1], at: at(0)) == .refused(.noDescriptor))
      // A few bytes go to the heap, and more stay where they are while all is taken.
      try #require(!low[low.count - 1].payload.outsideReserve().isShareable)
      let many = try pixels(100_000)
      try #require(many.payload.outsideReserve().takesReserve)
      // Once a descriptor is free it is taken.
      low.removeFirst(8)
      let moved = many.payload.outsideReserve()
      try #require(moved.isShareable && !moved.takesReserve && moved.bytes == many.payload.bytes)
    }
  }

  @Test func `pixels are nothing for the disk, nor for the next process`() throws {
    let (tier, _, pixels) = tier()
    #expect(StoredRecord(pixels, wall: 0, at: at(0)) == nil)
    let limits = HandoverLimits(
      descriptors: 10, bytes: 1 << 20, packBytes: 1 << 20, indexBytes: 1 << 20)
    let handover = try tier.handover(
      within: limits, isClean: true, at: at(0), wall: 0)
    #expect(handover?.entries == 1)
  }

  @Test func `what is made of a picture has a key of its own that other bytes do not lead to`() {
    let original = key("https://h/a", "i")
    let made = original.made(of: BodyChecksum(1), form: "pixels")
    #expect(made != original && made.digest != original.digest)
    #expect(made.url == original.url && made.identifier == "i")
    #expect(made == original.made(of: BodyChecksum(1), form: "pixels"))
    #expect(made != original.made(of: BodyChecksum(2), form: "pixels"))
    #expect(made != original.made(of: BodyChecksum(1), form: "pixels "))
    #expect(made != key("https://h/a", "j").made(of: BodyChecksum(1), form: "pixels"))
  }
}
