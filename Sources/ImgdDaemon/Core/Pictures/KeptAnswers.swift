// What is encoded once for a picture in memory and kept with it, so that later hits copy it. All of it costs memory, so
// other pictures may have to go for it.

import ImgdCache
import ImgdSystem
import ImgdWire

extension PictureTiers {
  /// Keeps the description of a picture with it, in both tiers.
  func describe(_ image: CachedImage, as description: [UInt8]) {
    noteEviction(memory.describe(image, as: description))
    writeDown(image)
  }

  /// Adds the tags of a fetch to a picture that it is shown, in both tiers; where that is a form, to the picture that it
  /// was made of as well.
  func add(_ tags: [String], to image: CachedImage) {
    guard !tags.isEmpty else { return }
    let key = image.originalKey
    let original = key.flatMap { memory.peek($0) }
    if let original { add(tags, to: original) }
    guard !image.hasAll(tags) else { return }
    noteEviction(memory.add(tags, to: image))
    writeDown(image)
    guard let key, original == nil else { return }
    let addThem = { [unowned self] (original: CachedImage?) in if let original { add(tags, to: original) } }
    disk.fetch(key, countsAsUse: false, then: addThem).passOn(to: addThem)
  }

  /// Changes who has claims on a picture, in both tiers.
  func set(_ claims: EntryClaims, of image: CachedImage, then: @escaping () -> Void) {
    noteEviction(memory.set(claims, of: image))
    writeDown(image, then: then)
  }

  /// Has the disk keep what has changed of a picture's record.
  private func writeDown(_ image: CachedImage, then: @escaping () -> Void = {}) {
    // It may still be on its way to the disk.
    disk.whenSettled(image) { [unowned self] in
      if disk.holds(image) { disk.renew(image, countsAsUse: false) }
      then()
    }
  }

  /// Moves a picture's bytes into a memfd, unless they are in one already, and opens it for a client.
  func openDescriptor(of image: CachedImage) throws(SystemFailure) -> FileDescriptor {
    noteEviction(memory.makeLendable(image))
    return try image.payload.openReadOnly()
  }

  /// The end of a line with the picture's descriptor, which is encoded once for a fresh picture and kept with it.
  func lentEnding(of image: CachedImage) -> [UInt8] {
    if let known = image.lentEnding { return known }
    let shown = ShownPicture(DeliveredImage(image: image, source: .memory), url: image.url.text, at: loop.now)
    let content = image.isPixels ? PictureLine.Content.pixels : .descriptor(LentPicture(image, among: purges))
    let ending = PictureLine(picture: shown, content: content).ending
    keep(with: image) { memory.keepLentEnding(ending, with: image) }
    return ending
  }

  /// Keeps the end of a line with the path of a picture that was lent with it, encoded once for its file; false if it has
  /// no file.
  func keepPathEnding(of image: CachedImage) -> Bool {
    if image.hasPathEnding { return true }
    guard let path = image.file?.path else { return false }
    keep(with: image) { memory.keepPathEnding(FetchLine.ending(path: path), with: image) }
    return true
  }

  /// The origin's answer as lines have it, which is encoded once for a picture and kept with it.
  func encodedResponse(of image: CachedImage) -> [UInt8] {
    if let known = image.encodedResponse { return known }
    let encoded = FetchLine.details(of: image.response)
    keep(with: image) { memory.keepResponse(encoded, with: image) }
    return encoded
  }

  /// What a client that has the picture is told in place of it, which is encoded once and kept with it.
  func confirmation(of image: CachedImage) -> ImageConfirmation {
    if let known = image.confirmation { return known }
    let confirmation = NotModified(DeliveredImage(image: image, source: .memory), at: loop.now).confirmation(of: image)
    keep(with: image) { memory.keepConfirmation(confirmation, with: image) }
    return confirmation
  }

  /// Keeps something with an image that is about to be shown. It goes last from now on, since that may be more than there
  /// is room for.
  private func keep(with image: CachedImage, _ keep: () -> Removal) {
    memory.touch(image, at: loop.now)
    noteEviction(keep())
  }

  /// Notes with a picture in memory where a form of it is, and prepares the form to be shown at once.
  func keepPlace(of made: CachedImage, as form: String, with original: CachedImage) {
    if !made.hasReply { noteEviction(memory.keepReply(ShownPicture.preparedFields(of: made), with: made)) }
    noteEviction(memory.keepPlace(of: made, as: form, with: original))
  }
}
