internal import ImgdSystem

extension DiskTier {
  /// What is said of a picture that only the disk has.
  package struct Hit {
    package let facts: ImageFacts
    package let bytes: Int
    package let age: Int
    package let freshFor: Int
    package let path: String
  }

  /// The answer to a plain request, if it can be given without reading anything: the index knows
  /// enough of the entry, it is fresh, and its file is seen to be there.
  ///
  /// Counts as a use when there is one; who gets nil goes on with `fetch`, and is counted there.
  package func readyHit(for url: String, identifier: String?, lends: Bool) -> Hit? {
    guard purging == 0, state != .off, stores.all.isEmpty, let directory else { return nil }
    let digest = KeyDigest(url: url, identifier: identifier)
    guard let place = index.place(of: digest), loads[digest] == nil else { return nil }
    let entry = index[place]
    guard isReady(entry), sight(of: entry, at: place) == .sound,
      let file = pictureFile(of: entry)
    else { return nil }
    counts.hits += 1
    if lends { _ = lend(place) } else { touch(place) }
    return Hit(
      facts: entry.facts, bytes: Int(entry.bytes), age: Int(max(wall - Int64(entry.storedAt), 0)),
      freshFor: Int(Int64(entry.freshUntil) - wall), path: directory.path(of: file))
  }

  private func isReady(_ entry: DiskEntry) -> Bool {
    entry.isPlain && entry.isTrusted && !isTooOld(entry) && Int64(entry.freshUntil) > wall
      && Int64(entry.storedAt) <= wall + StoredMoment.tolerance
  }
}
