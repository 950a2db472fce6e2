internal import ImgdSystem

/// The pictures that an earlier process has left, the most recently used first.
struct HandoverInheritance {
  private var entries: ArraySlice<HandoverEntry>
  private let pack: Payload?
  /// The memfds other than the index and the pack.
  private var bodies: [FileStatus.Identity: Payload] = [:]

  /// Reads the index that a clean stop of the same release has left.
  init(_ index: Payload, _ bodies: [Payload], release: String) throws(HandoverProblem) {
    guard index.count <= HandoverIndex.most else { throw .notWhole }
    let described = try HandoverIndex.decode(index.bytes, release: release)
    guard described.isClean else { throw .notClean }
    entries = described.entries[...]
    for body in bodies { if let identity = body.identity { self.bodies[identity] = body } }
    pack = described.pack.flatMap { [bodies = self.bodies] in bodies[$0] }
    if let identity = described.pack { self.bodies[identity] = nil }
  }

  /// The next picture that makes sense and has at most `most` bytes; nil after the last one.
  mutating func next(most: () -> Int, wall: Int64, at now: Instant) -> CachedImage? {
    while let entry = entries.popFirst() {
      guard let record = RecordCodec.decode(entry.record), record.bytes <= most(),
        let url = try? CanonicalURL.parse(record.url), let payload = payload(of: entry, count: record.bytes),
        payload.count == record.bytes,
        let image = CachedImage.make(
          record,
          key: CacheKey(url: url, identifier: record.identifier, variant: record.variant, knownDigest: record.digest),
          payload: payload, wall: wall, at: now)
      else { continue }
      image.formerFile = entry.number
      image.lastAccess = StoredMoment(storedWall: entry.lastAccess, nowWall: wall, now: now).instant
      if entry.isStale { image.markStale() }
      return image
    }
    return nil
  }

  private mutating func payload(of entry: HandoverEntry, count: Int) -> Payload? {
    switch entry.body {
    case .packed(let start): pack?.part(from: Int(start), count: count)
    // Each memfd serves one picture only: an index that names one again and again would take for ever.
    case .memory(let identity): bodies.removeValue(forKey: identity)
    }
  }
}
