import ImgdCache
import ImgdSystem

/// Seconds on a clock that begins where a test begins.
func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

func key(_ url: String, _ identifier: String? = nil, _ scope: CredentialScope? = nil) -> CacheKey {
  guard let url = try? CanonicalURL.parse(url) else { preconditionFailure("a test's URL is one") }
  return CacheKey(url: url, identifier: identifier, scope: scope)
}

/// An image with a payload of `bytes` bytes, which comes after all purges until it is stored.
func image(
  _ key: CacheKey, bytes: Int = 1_000, serial: UInt64 = 1, headers: HeaderList = [],
  tags: [String] = [], width: Int = 8, isPurged: Bool = false, storedAt: Int64 = 0,
  of byte: UInt8 = 7, owner: UInt32? = nil
) -> CachedImage {
  let freshness = Freshness(status: 200, headers: headers, receivedAt: 0)
  return CachedImage.make(
    key: key,
    body: ImageBody(
      Payload([UInt8](repeating: byte, count: bytes)),
      facts: ImageFacts(format: 1, width: width, height: 8, frames: 1, orientation: 1)),
    answer: ImageAnswer(
      StoredResponse(status: 200, headers: headers), freshness: freshness,
      vary: VaryOutcome(varying: varyingNames(headers), sent: [])),
    tags: tags, owner: owner, serial: serial, isPurged: isPurged, checked: .max,
    stored: StoredMoment(at(storedAt), wall: storedAt))
}

func image(_ url: String, bytes: Int = 1_000, serial: UInt64 = 1) -> CachedImage {
  image(key(url), bytes: bytes, serial: serial)
}

extension MemoryTier {
  static func holding(
    _ capacity: Int, preferred: Int? = nil, maxEntry: Int? = nil
  ) -> MemoryTier {
    MemoryTier(
      limits: Limits(
        capacity: capacity, preferred: preferred ?? capacity, maxEntry: maxEntry ?? capacity))
  }
  /// The image under a key, fresh or not; counts as a use, or as a miss.
  func image(for key: CacheKey, at now: Instant) -> CachedImage? {
    guard let image = peek(key) else {
      noteMiss()
      return nil
    }
    noteUse(of: image, at: now)
    return image
  }
}
