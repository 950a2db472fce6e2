package import ImgdSystem

/// How much may be left to the next process.
package struct HandoverLimits: Sendable {
  /// Descriptors in all, including one for the index and one for the pack.
  package var descriptors: Int
  /// Bytes in memfds of their own.
  package var bytes: Int
  /// Bytes of the pack: they are copied when they are left and when they are taken over.
  package var packBytes: Int
  /// Bytes of the index, estimated by what its entries cost in memory, which is a little more.
  package var indexBytes: Int

  package init(descriptors: Int, bytes: Int, packBytes: Int = 32 << 20, indexBytes: Int = 6 << 20) {
    self.descriptors = descriptors
    self.bytes = bytes
    self.packBytes = packBytes
    self.indexBytes = indexBytes
  }
}

/// The pictures that are left to the next process.
package struct Handover {
  /// The index, in a memfd.
  package let index: Payload
  /// The memfds that hold what it describes.
  package let bodies: [Payload]
  package let entries: Int
}

/// Why the pictures of an earlier process are not taken over.
package enum HandoverProblem: Error, Equatable, CustomStringConvertible {
  case notWhole
  case otherLayout
  case notClean

  package var description: String {
    switch self {
    case .notWhole: "it is not whole"
    case .otherLayout: "a release with another layout wrote it"
    case .notClean: "its daemon did not stop in good order"
    }
  }
}

// What the memory tier leaves to the next process, and takes over from an earlier one.
extension MemoryTier {
  /// Gathers the pictures for the next process; nil when there are none.
  ///
  /// Only what is gathered as `isClean` will be taken over: gathering it is the last thing that a process
  /// does with its tier. For a snapshot nothing is copied, so it holds no small pictures.
  package func handover(within limits: HandoverLimits, isClean: Bool, at now: Instant, wall: Int64)
    throws(SystemFailure) -> Handover?
  {
    var draft = HandoverDraft(limits: limits, isClean: isClean)
    for place in images.newestFirst {
      let image = images.image(at: place)
      if isInForce(image) { try draft.add(image, at: now, wall: wall) }
    }
    return try draft.finish()
  }

  /// Takes in the pictures that an earlier process has left, and returns their number and their bytes.
  ///
  /// A picture whose bytes are missing is passed over, and so is one whose format the caller does not know.
  /// The bytes need not be compared with a checksum: the memfd that the index names was sealed before it was
  /// named. `taken` is called with each image that has got into the tier.
  package func takeOver(
    index: Payload, bodies: [Payload], at now: Instant, wall: Int64,
    isKnown: (ImageFacts) -> Bool = { _ in true }, taken: (CachedImage) -> Void = { _ in }
  ) throws(HandoverProblem) -> Removal {
    var inheritance = try HandoverInheritance(index, bodies)
    var found: [CachedImage] = []
    var room = limits.capacity
    // A picture that would be evicted at once is not even looked at.
    while let image = inheritance.next(most: { min(room, limits.maxEntry) }, wall: wall, at: now) {
      guard isKnown(image.facts), shouldCache(image) == nil, image.cost <= room else { continue }
      room -= image.cost
      found.append(image)
    }
    var removal = Removal()
    // Added last, the most recently used image is the most recent one again.
    for image in found.reversed() {
      let used = image.lastAccess
      guard add(image, at: now).isStored else { continue }
      image.lastAccess = used
      removal.count(image.byteCount)
      taken(image)
    }
    return removal
  }
}

// The pictures that the next process is to have in memory from its start.
//
// A large picture lies in a sealed memfd already, which the service manager can hold while no
// process of ours runs. All others are copied into one memfd, the pack: the manager compares each
// new descriptor with all that it holds, so a few hundred would take more time than all the rest.
// An index, in a memfd as well, lists the pictures. The most recently used ones are taken first, until
// there is no room for more. Pictures that were fetched with credentials are not left to another process.

/// Gathers pictures for the next process, as long as there is room.
struct HandoverDraft: ~Copyable {
  /// Larger pictures are not copied into the pack.
  private static let mostPacked = 128 << 10
  /// Smaller pictures are not worth a descriptor of their own.
  private static let leastLent = 16 << 10

  private let isClean: Bool
  private var limits: HandoverLimits
  private var entries: [HandoverEntry] = []
  private var pack = PayloadPack()
  private var bodies: [Payload] = []

  /// A draft that is not clean will not be taken over, and nothing is copied for it.
  init(limits: HandoverLimits, isClean: Bool) {
    self.isClean = isClean
    self.limits = limits
    self.limits.descriptors -= 1
    if !isClean { self.limits.packBytes = 0 }
  }

  mutating func add(_ image: CachedImage, at now: Instant, wall: Int64) throws(SystemFailure) {
    let costInIndex = image.cost - image.bodyCost
    guard image.scope == nil, costInIndex <= limits.indexBytes, hasRoom(for: image),
      let record = StoredRecord(image, wall: wall, at: now), let encoded = RecordCodec.encode(record.sane),
      let body = try image.hasBody ? takeBody(image.payload) : .away
    else { return }
    limits.indexBytes -= costInIndex
    entries.append(
      HandoverEntry(
        record: encoded, number: image.file?.number ?? image.formerFile,
        lastAccess: wall - max(now - image.lastAccess, .zero).wholeSeconds, isStale: image.isStale, body: body))
  }

  consuming func finish() throws(SystemFailure) -> Handover? {
    guard !entries.isEmpty else { return nil }
    let sealed = try pack.seal()
    let index = HandoverIndex(isClean: isClean, pack: sealed?.identity, entries: entries)
    return Handover(
      index: try Payload(index.encoded()).shareable(), bodies: (sealed.map { [$0] } ?? []) + bodies,
      entries: entries.count)
  }

  private mutating func takeBody(_ payload: Payload) throws(SystemFailure) -> HandoverEntry.Body? {
    if packs(payload) {
      if pack.isEmpty { limits.descriptors -= 1 }
      limits.packBytes -= payload.count
      return .packed(UInt32(try pack.append(payload)))
    }
    guard lends(payload) else { return nil }
    let shared = try payload.shareable()
    guard let identity = shared.identity else { return nil }
    limits.descriptors -= 1
    limits.bytes -= payload.count
    bodies.append(shared)
    return .memory(identity)
  }

  /// What is known of a picture without its bytes takes room in the index alone.
  private func hasRoom(for image: CachedImage) -> Bool {
    guard image.hasBody else { return isClean }
    let payload = image.payload
    return packs(payload) || lends(payload)
  }

  private func packs(_ payload: Payload) -> Bool {
    payload.count <= min(Self.mostPacked, limits.packBytes) && (!pack.isEmpty || limits.descriptors > 0)
  }

  private func lends(_ payload: Payload) -> Bool {
    (payload.isShareable || isClean && payload.count > Self.leastLent) && limits.descriptors > 0
      && payload.count <= limits.bytes
  }
}

/// The pictures that an earlier process has left, the most recently used first.
struct HandoverInheritance {
  private var entries: ArraySlice<HandoverEntry>
  private let pack: Payload?
  /// The memfds other than the index and the pack.
  private var bodies: [FileStatus.Identity: Payload] = [:]

  /// Reads the index that a clean stop has left.
  init(_ index: Payload, _ bodies: [Payload]) throws(HandoverProblem) {
    guard index.count <= HandoverIndex.most else { throw .notWhole }
    let described = try HandoverIndex.decode(index.bytes)
    guard described.isClean else { throw .notClean }
    entries = described.entries[...]
    for body in bodies { if let identity = body.identity { self.bodies[identity] = body } }
    pack = described.pack.flatMap { [bodies = self.bodies] in bodies[$0] }
    if let identity = described.pack { self.bodies[identity] = nil }
  }

  /// The next picture that makes sense, and whose bytes are at most `most` or have gone; nil after the last one.
  mutating func next(most: () -> Int, wall: Int64, at now: Instant) -> CachedImage? {
    while let entry = entries.popFirst() {
      guard let record = RecordCodec.decode(entry.record), let url = try? CanonicalURL.parse(record.url) else {
        continue
      }
      let payload = record.bytes <= most() ? payload(of: entry, count: record.bytes) : nil
      guard entry.body == .away ? record.bytes > 0 : payload?.count == record.bytes,
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
    case .away: nil
    }
  }
}
