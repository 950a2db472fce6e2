package import ImgdSystem

/// Which images a purge means: those that match every part that is given.
package struct PurgeFilter: Sendable, Equatable {
  package var url: CanonicalURL?
  package var identifier: String?
  package var prefix: String?
  /// A host and everything under it: `example.org` means `cdn.example.org` too.
  package var host: String?
  package var tag: String?
  package var olderThan: Duration?
  package var unusedFor: Duration?
  package var expired = false

  package init() {}

  package var matchesAll: Bool { self == PurgeFilter() }

  package func matches(_ image: CachedImage, at now: Instant) -> Bool {
    matches(image.key, tags: image.tags)
      && olderThan.map { now - image.storedInstant >= $0 } ?? true
      && unusedFor.map { now - image.lastAccess >= $0 } ?? true
      && (!expired || !image.isFresh(at: now))
  }

  /// Whether an image that is on its way would match: it is new, unused and fresh.
  package func matchesArriving(_ key: CacheKey, tags: [String]) -> Bool {
    olderThan == nil && unusedFor == nil && !expired && matches(key, tags: tags)
  }

  private func matches(_ key: CacheKey, tags: [String]) -> Bool {
    url.map { $0.text == key.url } ?? true
      && identifier.map { $0 == key.identifier ?? "" } ?? true
      && prefix.map(key.url.hasPrefix) ?? true
      && host.map { CanonicalURL.host(of: key.url, isWithin: $0) } ?? true
      && tag.map(tags.contains) ?? true
  }
}

extension CanonicalURL {
  /// Whether a URL's host is `domain` or lies under it, on a label boundary.
  static func host(of url: String, isWithin domain: String) -> Bool {
    let host = CanonicalURL(text: url).host
    return host == domain || host.hasSuffix("." + domain)
  }
}
