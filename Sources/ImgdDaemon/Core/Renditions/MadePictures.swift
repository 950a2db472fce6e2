import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

/// The renditions of pictures, in the tiers.
final class MadePictures {
  private let pictures: PictureTiers
  private let loop: EventLoop

  init(in pictures: PictureTiers, loop: EventLoop) {
    self.pictures = pictures
    self.loop = loop
  }

  // MARK: Finding

  /// Looks for a rendition of a picture that may be shown now, without reading the picture itself.
  func find(_ look: MadeLook, then: @escaping (DeliveredImage?) -> Void) -> Look<DeliveredImage?> {
    guard let original = original(of: look), look.rendition.isNeeded(for: original.facts) else { return .now(nil) }
    let key = original.key.made(of: original.checksum, form: look.rendition.form)
    if let image = inMemory(key, countsAsUse: look.mode.counts) {
      return .now(original.delivered(image, from: .memory))
    }
    guard !look.rendition.isPixels else { return .now(nil) }
    let tiers: Set<Tier> = look.keepsInMemory ? [.memory] : []
    let delivered = { (image: CachedImage?) in image.map { original.delivered($0, from: .disk) } }
    return onDisk(key, keepingIn: tiers, countsAsUse: look.mode.counts) { then(delivered($0)) }.map(delivered)
  }

  /// A picture that the request may be shown without asking its origin, as far as that is known at once.
  private func original(of look: MadeLook) -> MadeLook.Original? {
    if let image = pictures.inMemory(look.key) { return original(image, of: look) }
    // The description of a picture on disk is in its record, which a glance does not read.
    guard !look.describes, look.mode != .noCache,
      let entry = pictures.disk.glance(at: look.key.key, countsAsUse: look.mode.counts)
    else { return nil }
    return MadeLook.Original(
      key: look.key.key, facts: entry.facts, checksum: entry.checksum,
      age: ShownAge(age: entry.age, freshFor: entry.freshFor))
  }

  private func original(_ image: CachedImage, of look: MadeLook) -> MadeLook.Original? {
    let description = PictureDescription(packed: image.description)
    guard look.mode.decision(on: image.state(at: loop.now), rules: look.rules) == .use,
      description != nil || !look.describes
    else { return nil }
    return MadeLook.Original(
      key: image.key, facts: image.facts, checksum: image.checksum, age: ShownAge(image, at: loop.now),
      placeholder: look.describes ? description.map { .description($0) } : nil)
  }

  func inMemory(_ key: CacheKey, countsAsUse: Bool) -> CachedImage? {
    guard let image = pictures.memory.peek(key) else { return nil }
    if countsAsUse { pictures.memory.noteUse(of: image, at: loop.now) }
    return image
  }

  /// Looks for a rendition on disk; one that is found rises into memory, if it may be kept there.
  func onDisk(_ key: CacheKey, keepingIn tiers: Set<Tier>, countsAsUse: Bool, then: @escaping (CachedImage?) -> Void)
    -> Look<CachedImage?>
  {
    let tiers = tiers.intersection([.memory])
    return pictures.disk.fetch(key, countsAsUse: countsAsUse) { [self] image in
      if let image { keep(image, in: tiers) }
      then(image)
    }
  }

  // MARK: Keeping

  /// Keeps a rendition in the tiers; decoded pictures never go to disk.
  func keep(_ image: CachedImage, in tiers: Set<Tier>) {
    let tiers = image.isPixels ? tiers.subtracting([.disk]) : tiers
    pictures.keep(image, wanted: tiers, in: tiers)
  }
}
