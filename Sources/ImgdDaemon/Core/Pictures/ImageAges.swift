// How old the images of the memory tier are, for lists and purges. A form has the age of its picture, whatever was
// known of that when the form was made: the origin may have confirmed the picture since, or a purge may have marked it.

import ImgdCache
import ImgdSystem

extension PictureTiers {
  /// The age of an image in memory: if it is a form, that of its picture, as far as either tier has it at hand.
  func age(of image: CachedImage, at now: Instant) -> ShownAge {
    guard let key = image.originalKey else { return ShownAge(image, at: now) }
    if let original = memory.peek(key) { return ShownAge(original, at: now) }
    guard let entry = disk.glance(at: key, countsAsUse: false) else { return ShownAge(image, at: now) }
    return ShownAge(age: entry.age, freshFor: entry.freshFor)
  }

  /// Goes on with the cleaning of memory after a purge; returns whether any images are left.
  func goOn(with sweep: inout MemoryTier.Sweep) -> Bool {
    memory.goOn(with: &sweep) { image, now in
      image.originalKey == nil ? image.isFresh(at: now) : age(of: image, at: now).freshFor > 0
    }
  }
}
