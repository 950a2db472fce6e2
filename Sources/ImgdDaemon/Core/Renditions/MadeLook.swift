import ImgdCache
import ImgdDecode
import ImgdWire

/// A look for what was made of a picture before.
struct MadeLook {
  /// A picture that may be shown now, as far as it is known without reading it.
  struct Original {
    let key: CacheKey
    let facts: ImageFacts
    let checksum: BodyChecksum
    let age: ShownAge
    var placeholder: Placeholder?

    func delivered(_ image: CachedImage, from source: DeliveredImage.Source) -> DeliveredImage {
      DeliveredImage(
        image: image, source: source, isMade: true, originalAge: age, placeholder: placeholder)
    }
  }

  let rendition: Rendition
  let key: MergeKey
  let mode: CacheMode
  let rules: FreshnessRules
  let describes: Bool
  let keepsInMemory: Bool

  /// Nil for a job that wants the picture as it is.
  init?(_ job: FetchJob, rules: FreshnessRules) {
    guard let rendition = job.rendition else { return nil }
    self.rendition = rendition
    key = job.mergeKey
    mode = job.mode
    self.rules = rules
    describes = job.request.describe
    keepsInMemory = job.request.keepsInMemory
  }
}

extension Rendition {
  /// Whether it is a decoded picture, which is in memory only.
  var isPixels: Bool { output == .pixels }
}

extension FetchJob {
  /// Whether a picture that was found has to be decoded for it.
  func needsDecoder(for found: DeliveredImage) -> Bool {
    if found.isMade { return false }
    if request.describe, found.image.description.isEmpty { return true }
    return rendition?.isNeeded(for: found.image.facts) ?? false
  }
}
