import ImgdCache
import ImgdSystem
import Testing

@testable import ImgdCache

/// Decoded pictures in the memory tier.
@Suite struct PixelTests {
  private func pixels(of original: CachedImage, bytes: Int = 4_000) -> CachedImage {
    original.derived(
      key: original.key.made(of: original.checksum, form: "pixels"),
      payload: Payload([UInt8](repeating: 1, count: bytes)), checksum: .unknown,
      facts: original.facts, isPixels: true)
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
    while tier.goOn(with: &purge, at: at(0)) {}
    #expect(purge.removal.entries == 1)
    #expect(tier.peek(pixels.key) == nil && tier.peek(original.key) === original)
    #expect(tier.counts.purges == 0)
  }

  @Test func `pixels are nothing for the disk, nor for the next process`() throws {
    let (tier, _, pixels) = tier()
    #expect(StoredRecord(pixels, wall: 0, at: at(0)) == nil)
    let limits = HandoverLimits(
      descriptors: 10, bytes: 1 << 20, packBytes: 1 << 20, indexBytes: 1 << 20)
    let handover = try tier.handover(
      within: limits, isClean: true, release: "r", at: at(0), wall: 0)
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
