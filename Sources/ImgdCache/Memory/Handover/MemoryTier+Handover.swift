// The pictures that the next process shall have in memory at once.
//
// A large picture lies in a sealed memfd already, which somebody else can hold for as long as no
// process of ours runs; a small one goes into the index that describes them all, which is a memfd
// too: descriptors are scarcer than bytes. Those that were used last go first, until there is no
// room for more. What was fetched with credentials stays with the process that has them.

package import ImgdSystem

/// How much may be left to the next process.
package struct HandoverLimits: Sendable {
  /// Descriptors in all, the index being one.
  package var descriptors: Int
  /// Bytes in memfds of their own.
  package var bytes: Int
  /// Bytes of the index, by what its entries cost in memory, which is a little more.
  package var indexBytes: Int

  package init(descriptors: Int, bytes: Int, indexBytes: Int = 16 << 20) {
    self.descriptors = descriptors
    self.bytes = bytes
    self.indexBytes = indexBytes
  }
}

/// What is left to the next process.
package struct Handover {
  /// The index, in a memfd.
  package let index: Payload
  /// What it describes and does not hold itself, each in a memfd.
  package let bodies: [Payload]
  package let entries: Int
}

extension MemoryTier {
  /// Gathers what the next process shall have; nil when there is nothing.
  ///
  /// Only what is gathered as `isClean` will be taken over: it is the last thing that a process
  /// does with its tier.
  package func handover(
    within limits: HandoverLimits, isClean: Bool, release: String, at now: Instant, wall: Int64
  ) throws(SystemFailure) -> Handover? {
    var selection = HandoverSelection(limits: limits)
    for place in list.newestFirst {
      let image = list.image(at: place)
      guard image.key.scope == nil, !image.isPurged, selection.hasRoom(for: image),
        var row = IndexRow(image, suffix: "", wall: wall, at: now)
      else { continue }
      row.record.number = image.file?.number ?? image.formerFile
      row.record.lastAccess = wall - max(now - image.lastAccess, .zero).nanoseconds / 1_000_000_000
      selection.take(image, row)
    }
    guard !selection.entries.isEmpty else { return nil }
    let index = HandoverIndex(isClean: isClean, entries: selection.entries)
    return Handover(
      index: try Payload(index.encoded(release: release)).shareable(), bodies: selection.bodies,
      entries: selection.entries.count)
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
    var images: [CachedImage] = []
    var room = limits.capacity
    // What would have to go again is not even looked at.
    for entry in described.entries where entry.row.record.bytes <= min(room, limits.maxEntry) {
      guard let image = CachedImage(entry, in: &byIdentity, wall: wall, at: now),
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
private struct HandoverSelection {
  private var limits: HandoverLimits
  private(set) var entries: [HandoverEntry] = []
  private(set) var bodies: [Payload] = []

  init(limits: HandoverLimits) {
    self.limits = limits
    self.limits.descriptors -= 1
  }

  func hasRoom(for image: CachedImage) -> Bool {
    guard image.costInIndex <= limits.indexBytes else { return false }
    return image.goesInline || limits.descriptors > 0 && image.payload.count <= limits.bytes
  }

  mutating func take(_ image: CachedImage, _ row: IndexRow) {
    guard let body = image.goesInline ? .inline(image.payload.bytes) : lend(image.payload) else {
      return
    }
    limits.indexBytes -= image.costInIndex
    entries.append(HandoverEntry(row: row, isStale: image.isStale, body: body))
  }

  private mutating func lend(_ payload: Payload) -> HandoverEntry.Body? {
    guard let identity = payload.identity else { return nil }
    limits.descriptors -= 1
    limits.bytes -= payload.count
    bodies.append(payload)
    return .memory(identity)
  }
}

extension CachedImage {
  /// Also when its bytes are in a memfd because somebody wanted a descriptor of them.
  fileprivate var goesInline: Bool { !payload.isShareable || payload.count <= Payload.heapLimit }

  fileprivate var costInIndex: Int { cost - payload.cost + (goesInline ? payload.count : 0) }
}

extension CachedImage {
  /// A picture as an earlier process had it; nil when its bytes are not what they were.
  fileprivate convenience init?(
    _ entry: HandoverEntry, in bodies: inout [FileStatus.Identity: Payload], wall: Int64,
    at now: Instant
  ) {
    let payload: Payload
    switch entry.body {
    case .inline(let bytes): payload = Payload(bytes)
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
