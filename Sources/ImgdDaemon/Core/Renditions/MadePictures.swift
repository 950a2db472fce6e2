import ImgdCache
import ImgdDecode
import ImgdPicture
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

  /// Looks for a rendition of a picture that may be shown now, without reading the picture itself.
  func find(_ look: MadeLook, then: @escaping (DeliveredImage?) -> Void) -> Look<DeliveredImage?> {
    guard let original = original(of: look),
      case .form(let form) = look.wanted.choice(for: original.facts, writable: look.writable)
    else { return .now(nil) }
    let key = original.key.made(of: original.checksum, form: form.text)
    if let image = inMemory(key, countsAsUse: look.mode.counts) {
      if let picture = original.picture {
        if !picture.hasBody { pictures.memory.touch(picture, at: loop.now) }
        pictures.keepPlace(of: image, as: form.text, with: picture)
      }
      return .now(original.delivered(image, from: .memory))
    }
    guard !form.rendition.isPixels else { return .now(nil) }
    let delivered = { (image: CachedImage?) in image.map { original.delivered($0, from: .disk) } }
    return onDisk(key, keepingIn: look.tiers, countsAsUse: look.mode.counts) { then(delivered($0)) }.map(delivered)
  }

  /// Looks for a rendition of a picture whose bytes have gone, or for another of which it can be made; whether or not
  /// the picture may be shown now.
  func find(_ look: MadeLook, of found: DeliveredImage, then: @escaping (DeliveredImage?) -> Void) -> Look<
    DeliveredImage?
  > {
    let image = found.image
    let description = PictureDescription(packed: image.description)
    guard case .form(let form) = look.wanted.choice(for: image.facts, writable: look.writable),
      !look.describes || description != nil
    else { return .now(nil) }
    var found = found
    if look.describes { found.placeholder = description.map { .description($0) } }
    let formed = { [found, pictures] (made: CachedImage, source: DeliveredImage.Source) in
      var delivered = found
      delivered.form = DeliveredImage.Form(image: made, source: source)
      pictures.keepPlace(of: made, as: form.text, with: found.image)
      return delivered
    }
    let key = image.key.made(of: image.checksum, form: form.text)
    if let made = inMemory(key, countsAsUse: look.mode.counts) { return .now(formed(made, .memory)) }
    let source = { [self, found] in findSource(of: form, look, found, then: then) }
    guard !form.rendition.isPixels else { return source() }
    let onDisk = onDisk(key, keepingIn: look.tiers, countsAsUse: look.mode.counts) { form in
      if let form { then(formed(form, .disk)) } else { source().passOn(to: then) }
    }
    guard case .now(let made) = onDisk else { return .later }
    return made.map { .now(formed($0, .disk)) } ?? source()
  }

  /// Looks for a form of a picture of which the one that is wanted can be made.
  private func findSource(
    of form: WantedRendition.Form, _ look: MadeLook, _ found: DeliveredImage, then: @escaping (DeliveredImage?) -> Void
  ) -> Look<DeliveredImage?> {
    let image = found.image
    // What is on disk, and is looked at next, may have the bytes.
    guard look.mayMake, found.source != .memory || !pictures.disk.mayHold(image.key),
      let source = FormSource(for: form.rendition, of: image.facts, writable: look.writable)
    else { return .now(nil) }
    let delivered = { (stored: CachedImage, rendition: Rendition) in
      var delivered = found
      delivered.sourceForm = DeliveredImage.SourceForm(stored, making: rendition, for: form.text)
      return delivered
    }
    let inMemory = pictures.memory.peek(image.key).map { pictures.memory.forms(of: $0) } ?? []
    for stored in inMemory.sorted(by: { $0.image.facts.width > $1.image.facts.width }) {
      guard let rendition = source.rendition(from: stored.form, stored.image.facts) else { continue }
      if look.mode.counts { pictures.memory.noteUse(of: stored.image, at: loop.now) }
      return .now(delivered(stored.image, rendition))
    }
    let read = { [self] (forms: [StoredFormText]) -> Look<DeliveredImage?> in
      for stored in forms {
        guard let rendition = source.rendition(from: stored.text, stored.facts) else { continue }
        let key = image.key.made(of: image.checksum, form: stored.text)
        let delivered = { (stored: CachedImage?) in stored.map { delivered($0, rendition) } }
        return self.onDisk(key, keepingIn: look.tiers, countsAsUse: look.mode.counts) { then(delivered($0)) }
          .map(delivered)
      }
      return .now(nil)
    }
    let onDisk = pictures.disk.forms(of: image.key, where: source.mayBe) { read($0).passOn(to: then) }
    guard case .now(let forms) = onDisk else { return .later }
    return read(forms)
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
      key: image.key, facts: image.facts, checksum: image.checksum, age: ShownAge(image, at: loop.now), picture: image,
      placeholder: look.describes ? description.map { .description($0) } : nil)
  }

  func inMemory(_ key: CacheKey, countsAsUse: Bool) -> CachedImage? {
    guard let image = pictures.memory.peek(key) else { return nil }
    if countsAsUse { pictures.memory.noteUse(of: image, at: loop.now) }
    return image
  }

  /// Looks for a rendition on disk; one that is found rises into memory, if it may be kept there.
  func onDisk(_ key: CacheKey, keepingIn tiers: Tiers, countsAsUse: Bool, then: @escaping (CachedImage?) -> Void)
    -> Look<CachedImage?>
  {
    let tiers = tiers.intersection([.memory])
    return pictures.disk.fetch(key, countsAsUse: countsAsUse) { [self] image in
      if let image { keep(image, in: tiers) }
      then(image)
    }
  }

  /// Keeps a rendition in the tiers; decoded pictures never go to disk.
  func keep(_ image: CachedImage, in tiers: Tiers) {
    let tiers = image.isPixels ? tiers.subtracting([.disk]) : tiers
    pictures.keep(image, wanted: tiers, in: tiers)
  }

  /// Has the disk keep a rendition that only memory has, when its picture has come anew: or the disk would let that go
  /// whole, and it would come again and again.
  func keepOnDisk(_ image: CachedImage, in tiers: Tiers) {
    guard tiers.contains(.disk), !image.isPixels, !pictures.disk.holds(image) else { return }
    pictures.keep(image, wanted: [.disk], in: [.disk])
  }

  /// Keeps a rendition that was made of a picture; in memory it is found with that.
  func keep(_ image: CachedImage, as form: String, of original: CachedImage, in tiers: Tiers) {
    keep(image, in: tiers)
    if tiers.contains(.memory) { pictures.keepPlace(of: image, as: form, with: original) }
  }
}

/// A look for a rendition that was made earlier.
struct MadeLook {
  /// A picture that may be shown now, as far as it is known without reading it.
  struct Original {
    let key: CacheKey
    let facts: ImageFacts
    let checksum: BodyChecksum
    let age: ShownAge
    /// Nil if it is on disk alone.
    var picture: CachedImage?
    var placeholder: Placeholder?

    func delivered(_ image: CachedImage, from source: DeliveredImage.Source) -> DeliveredImage {
      DeliveredImage(
        image: image, source: source, isMade: true, originalAge: age, originalFrames: facts.frames,
        placeholder: placeholder)
    }
  }

  let wanted: WantedRendition
  /// The formats that decoders write here; nil as long as that is unknown.
  let writable: Set<PictureFormat>?
  let key: MergeKey
  let mode: CacheMode
  let rules: FreshnessRules
  let describes: Bool
  let tiers: Tiers
  /// Whether it may be made of another form.
  let mayMake: Bool
}

extension Rendition {
  /// Whether it is a decoded picture, which is in memory only.
  var isPixels: Bool { output == .pixels }
}
