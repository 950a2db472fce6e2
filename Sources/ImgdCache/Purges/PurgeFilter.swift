package import ImgdSystem

/// The images that a purge is about: all given conditions have to hold, and without conditions it is about all images.
package struct PurgeFilter: Sendable, Equatable {
  /// This URL with all its identifiers and variants.
  package var url: CanonicalURL?
  /// This additional identifier; an empty one stands for entries without any.
  package var identifier: String?
  /// How the canonical URL begins, byte for byte.
  package var prefix: String?
  /// This host and the hosts below it. `anyHost` is about all of them.
  package var host: String?
  /// A tag, or, where a host is named too, a group of the origin.
  package var tag: String?
  /// Stored longer ago than this.
  package var olderThan: Duration?
  /// Last used longer ago than this.
  package var unusedFor: Duration?
  /// Only images that are no longer fresh.
  package var expired = false
  /// Only the image that has this digest.
  var digest: KeyDigest?

  package init() {}

  /// No host that a request can name: with it a tag means the groups of every host as well.
  static let anyHost = "*"

  /// A filter for the one image of a digest, without its variants.
  init(_ digest: KeyDigest) { self.digest = digest }

  /// Whether there is no condition, so that it is about every image.
  package var matchesAll: Bool {
    url == nil && identifier == nil && prefix == nil && host == nil && tag == nil && digest == nil && olderThan == nil
      && !asksForState
  }

  /// The filter without the conditions on an image's age or use.
  package var namesOnly: PurgeFilter {
    var names = self
    (names.olderThan, names.unusedFor, names.expired) = (nil, nil, false)
    return names
  }

  /// The memory that it takes, roughly.
  package var roughBytes: Int { [url?.text, identifier, prefix, host, tag].reduce(256) { $0 + ($1?.utf8.count ?? 0) } }

  /// Whether both name the same images, byte for byte.
  package func hasSameNames(as other: PurgeFilter) -> Bool {
    url == other.url && digest == other.digest && sameBytes(identifier, other.identifier)
      && sameBytes(prefix, other.prefix) && sameBytes(host, other.host) && sameBytes(tag, other.tag)
  }

  func matches(_ image: CachedImage, isFresh: @autoclosure () -> Bool, at now: Instant) -> Bool {
    image.withURL { url in
      matchesName(url, identifier: image.identifier, digest: image.digest, tags: tag == nil ? [] : image.tags)
    } && matchesAge(image, at: now) && !(expired && isFresh())
  }

  /// Whether it means an image in memory.
  package func matches(_ image: CachedImage, at now: Instant) -> Bool {
    matches(image, isFresh: image.isFresh(at: now), at: now)
  }

  /// Whether it means an entry on disk; `wall` is in seconds since 1970.
  package func matches(_ entry: EntryDetails, wall: Int64) -> Bool {
    guard let key = entry.key, matchesName(key, tags: entry.claims.tags), !(expired && entry.freshFor > 0) else {
      return false
    }
    // In whole seconds, as `RemovalOrder` has them: removing an entry needlessly is the safe mistake.
    if let olderThan, wall - entry.storedAt < olderThan.wholeSeconds { return false }
    if let unusedFor, wall - entry.lastAccess < unusedFor.wholeSeconds { return false }
    return true
  }

  /// Whether it is about everything, but for conditions on age and use.
  package var namesNothing: Bool { namesOnly.matchesAll }

  /// Whether it has a condition whose outcome changes with time and use.
  var asksForState: Bool { unusedFor != nil || expired }

  /// Whether its conditions on the key and the tags of an image hold.
  package func matchesName(_ key: CacheKey, tags: [String]) -> Bool {
    matchesName(key.url.text.utf8.span, identifier: key.identifier, digest: key.digest, tags: tags)
  }

  private func matchesName(
    _ ownURL: Span<UInt8>, identifier ownIdentifier: String?, digest ownDigest: KeyDigest?, tags: [String]
  ) -> Bool {
    if let digest, ownDigest != digest { return false }
    guard matchesURL(ownURL) else { return false }
    if let identifier, !sameBytes(ownIdentifier ?? "", identifier) { return false }
    if let tag, !EntryTags.meets(tag, orGroup: host != nil, tags) { return false }
    return true
  }

  /// Whether its conditions on the URL hold.
  func matchesURL(_ own: Span<UInt8>) -> Bool {
    if let url, !sameBytes(own, url.text.utf8.span) { return false }
    if let prefix, !begins(own, with: prefix) { return false }
    if let host, host != Self.anyHost, !isBelow(host, own) { return false }
    return true
  }

  private func matchesAge(_ image: CachedImage, at now: Instant) -> Bool {
    if let olderThan, now - image.storedAt <= olderThan { return false }
    if let unusedFor, now - image.lastAccess <= unusedFor { return false }
    return true
  }
}

func begins(_ url: Span<UInt8>, with prefix: String) -> Bool {
  let prefix = prefix.utf8.span
  return prefix.count <= url.count && sameBytes(url.extracting(0..<prefix.count), prefix)
}

/// Whether a URL's host is `host` or ends in a dot and `host`.
private func isBelow(_ host: String, _ bytes: Span<UInt8>) -> Bool {
  let range = CanonicalURL.hostRange(in: bytes)
  let wanted = host.utf8.span
  let start = range.upperBound - wanted.count
  guard !wanted.isEmpty, start >= range.lowerBound else { return false }
  let isWhole = start == range.lowerBound
  // Nothing lies below an address: its last numbers are not a domain.
  let endsInDigit = 0x30...0x39 ~= wanted[wanted.count - 1]
  guard isWhole || (bytes[start - 1] == UInt8(ascii: ".") && !endsInDigit) else { return false }
  return wanted.indices.allSatisfy { lowerCase(wanted[$0]) == bytes[start + $0] }
}
