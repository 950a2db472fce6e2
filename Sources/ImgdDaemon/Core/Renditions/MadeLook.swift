import ImgdCache
import ImgdDecode
import ImgdWire

/// A look for a rendition that was made earlier.
struct MadeLook {
  /// A picture that may be shown now, as far as it is known without reading it.
  struct Original {
    let key: CacheKey
    let facts: ImageFacts
    let checksum: BodyChecksum
    let age: ShownAge
    var placeholder: Placeholder?

    func delivered(_ image: CachedImage, from source: DeliveredImage.Source) -> DeliveredImage {
      DeliveredImage(image: image, source: source, isMade: true, originalAge: age, placeholder: placeholder)
    }
  }

  let rendition: Rendition
  let key: MergeKey
  let mode: CacheMode
  let rules: FreshnessRules
  let describes: Bool
  let keepsInMemory: Bool
}

extension Rendition {
  /// Whether it is a decoded picture, which is in memory only.
  var isPixels: Bool { output == .pixels }
}
