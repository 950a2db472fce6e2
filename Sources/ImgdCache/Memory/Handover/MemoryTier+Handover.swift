// The pictures that the next process shall have in memory at once.
//
// A large picture lies in a sealed memfd already, which somebody else can hold for as long as no
// process of ours runs; all the others are copied into one memfd, the pack: who keeps a descriptor
// for us compares it with each that is there already, so that a few hundred cost more time than all
// the rest. An index, a memfd as well, says what there is. The pictures that were used last go first,
// until there is no room for more. What was fetched with credentials stays with the process that has
// them.

package import ImgdSystem

/// How much may be left to the next process.
package struct HandoverLimits: Sendable {
  /// Descriptors in all, the index being one, and the pack another.
  package var descriptors: Int
  /// Bytes in memfds of their own.
  package var bytes: Int
  /// Bytes of the pack: they are copied when they are left and when they are taken over.
  package var packBytes: Int
  /// Bytes of the index, by what its entries cost in memory, which is a little more.
  package var indexBytes: Int

  package init(
    descriptors: Int, bytes: Int, packBytes: Int = 32 << 20, indexBytes: Int = 6 << 20
  ) {
    self.descriptors = descriptors
    self.bytes = bytes
    self.packBytes = packBytes
    self.indexBytes = indexBytes
  }
}

/// What is left to the next process.
package struct Handover {
  /// The index, in a memfd.
  package let index: Payload
  /// The memfds that hold what it describes.
  package let bodies: [Payload]
  package let entries: Int
}

extension MemoryTier {
  /// Gathers what the next process shall have; nil when there is nothing.
  ///
  /// Only what is gathered as `isClean` will be taken over: it is the last thing that a process
  /// does with its tier. Nothing is copied for a snapshot, so that it holds no small ones.
  package func handover(
    within limits: HandoverLimits, isClean: Bool, release: String, at now: Instant, wall: Int64
  ) throws(SystemFailure) -> Handover? {
    var selection = HandoverSelection(limits: limits, mayCopy: isClean)
    for place in list.newestFirst {
      let image = list.image(at: place)
      guard image.key.scope == nil, !image.isPurged, selection.hasRoom(for: image),
        var row = IndexRow(image, suffix: "", wall: wall, at: now)
      else { continue }
      row.record.number = image.file?.number ?? image.formerFile
      row.record.lastAccess = wall - max(now - image.lastAccess, .zero).nanoseconds / 1_000_000_000
      try selection.take(image, row)
    }
    let (entries, pack, bodies) = try selection.finish()
    guard !entries.isEmpty else { return nil }
    let index = HandoverIndex(isClean: isClean, pack: pack?.identity, entries: entries)
    return Handover(
      index: try Payload(index.encoded(release: release)).shareable(),
      bodies: (pack.map { [$0] } ?? []) + bodies, entries: entries.count)
  }

  /// Takes in what an earlier process has left; answers how many pictures and bytes these are.
  ///
  /// A picture whose bytes are not there is passed over, and so is one of which the caller does not
  /// know what to make. That the bytes are the ones that are described needs no look at them: they
  /// are in the memfd that is named, which was sealed before it was.
  package func takeOver(
    index: Payload, bodies: [Payload], release: String, at now: Instant, wall: Int64,
    isKnown: (ImageFacts) -> Bool = { _ in true }
  ) throws(HandoverProblem) -> Removal {
    guard index.count <= HandoverIndex.most else { throw .notWhole }
    let described = try HandoverIndex.decode(index.bytes, release: release)
    guard described.isClean else { throw .notClean }
    var byIdentity: [FileStatus.Identity: Payload] = [:]
    for body in bodies {
      if let identity = body.identity { byIdentity[identity] = body }
    }
    let pack = described.pack.flatMap { byIdentity.removeValue(forKey: $0) }
    var images: [CachedImage] = []
    var room = limits.capacity
    // What would have to go again is not even looked at.
    for entry in described.entries where entry.row.record.bytes <= min(room, limits.maxEntry) {
      guard let image = CachedImage(entry, in: pack, or: &byIdentity, wall: wall, at: now),
        isKnown(image.facts), shouldCache(image) == nil, image.cost <= room
      else { continue }
      room -= image.cost
      images.append(image)
    }
    return takeOver(images, at: now)
  }

  /// The one that was used last comes last, and so is the most recent one again.
  private func takeOver(_ images: [CachedImage], at now: Instant) -> Removal {
    var taken = Removal()
    for image in images.reversed() {
      let used = image.lastAccess
      guard add(image, at: now).isStored else { continue }
      image.lastAccess = used
      taken.count(image.payload.count)
    }
    return taken
  }
}

/// What goes along, as long as there is room.
private struct HandoverSelection: ~Copyable {
  /// A larger picture is not copied.
  private static let mostPacked = 128 << 10

  private var limits: HandoverLimits
  private var entries: [HandoverEntry] = []
  private var pack = PayloadPack()
  private var bodies: [Payload] = []

  init(limits: HandoverLimits, mayCopy: Bool) {
    self.limits = limits
    self.limits.descriptors -= 1
    if !mayCopy { self.limits.packBytes = 0 }
  }

  func hasRoom(for image: CachedImage) -> Bool {
    image.costInIndex <= limits.indexBytes && (packs(image.payload) || lends(image.payload))
  }

  mutating func take(_ image: CachedImage, _ row: IndexRow) throws(SystemFailure) {
    let body: HandoverEntry.Body
    if packs(image.payload) {
      body = .packed(try copy(image.payload))
    } else if lends(image.payload), let identity = image.payload.identity {
      limits.descriptors -= 1
      limits.bytes -= image.payload.count
      bodies.append(image.payload)
      body = .memory(identity)
    } else {
      return
    }
    limits.indexBytes -= image.costInIndex
    entries.append(HandoverEntry(row: row, isStale: image.isStale, body: body))
  }

  private func packs(_ payload: Payload) -> Bool {
    payload.count <= min(Self.mostPacked, limits.packBytes)
      && (!pack.isEmpty || limits.descriptors > 0)
  }

  private mutating func copy(_ payload: Payload) throws(SystemFailure) -> UInt32 {
    if pack.isEmpty { limits.descriptors -= 1 }
    limits.packBytes -= payload.count
    return UInt32(try pack.append(payload))
  }

  private func lends(_ payload: Payload) -> Bool {
    payload.isShareable && limits.descriptors > 0 && payload.count <= limits.bytes
  }

  consuming func finish() throws(SystemFailure) -> (
    entries: [HandoverEntry], pack: Payload?, bodies: [Payload]
  ) {
    (entries, try pack.seal(), bodies)
  }
}

extension CachedImage {
  fileprivate var costInIndex: Int { cost - payload.cost }
}

extension CachedImage {
  /// A picture as an earlier process had it; nil when its bytes are not what they were.
  fileprivate convenience init?(
    _ entry: HandoverEntry, in pack: Payload?,
    or bodies: inout [FileStatus.Identity: Payload], wall: Int64, at now: Instant
  ) {
    let payload: Payload
    switch entry.body {
    case .packed(let start):
      guard let part = pack?.part(from: Int(start), count: entry.row.record.bytes) else {
        return nil
      }
      payload = part
    case .memory(let identity):
      // Each is one picture's, or a list that names one again and again would take for ever.
      guard let body = bodies.removeValue(forKey: identity) else { return nil }
      payload = body
    }
    let record = entry.row.record
    guard payload.count == record.bytes, let url = try? CanonicalURL.parse(entry.row.url) else {
      return nil
    }
    self.init(
      entry.row, key: CacheKey(url: url, identifier: entry.row.identifier), payload: payload,
      facts: ImageFacts(
        format: record.format, width: Int(record.width), height: Int(record.height),
        frames: Int(record.frames), orientation: Int(record.orientation)),
      wall: wall, at: now)
    formerFile = record.number
    lastAccess = StoredMoment(storedWall: record.lastAccess, nowWall: wall, now: now).instant
    if entry.isStale { markStale() }
  }
}
