// The pictures that the next process is to have in memory from its start.
//
// A large picture lies in a sealed memfd already, which the service manager can hold while no
// process of ours runs. All others are copied into one memfd, the pack: the manager compares each
// new descriptor with all that it holds, so a few hundred would take more time than all the rest.
// An index, in a memfd as well, lists the pictures. The most recently used ones are taken first, until
// there is no room for more. Pictures that were fetched with credentials are not left to another process.

internal import ImgdSystem

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

  /// Takes an image along, if it may go and there is room.
  mutating func add(_ image: CachedImage, at now: Instant, wall: Int64) throws(SystemFailure) {
    guard image.scope == nil, hasRoom(for: image), let record = StoredRecord(image, wall: wall, at: now),
      let encoded = RecordCodec.encode(record.sane), let body = try takeBody(image.payload)
    else { return }
    limits.indexBytes -= image.costInIndex
    entries.append(
      HandoverEntry(
        record: encoded, number: image.file?.number ?? image.formerFile,
        lastAccess: wall - max(now - image.lastAccess, .zero).wholeSeconds, isStale: image.isStale, body: body))
  }

  /// The handover; nil when it is empty.
  consuming func finish(release: String) throws(SystemFailure) -> Handover? {
    guard !entries.isEmpty else { return nil }
    let sealed = try pack.seal()
    let index = HandoverIndex(isClean: isClean, pack: sealed?.identity, entries: entries)
    return Handover(
      index: try Payload(index.encoded(release: release)).shareable(), bodies: (sealed.map { [$0] } ?? []) + bodies,
      entries: entries.count)
  }

  private func hasRoom(for image: CachedImage) -> Bool {
    image.costInIndex <= limits.indexBytes && (packs(image.payload) || lends(image.payload))
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

  private func packs(_ payload: Payload) -> Bool {
    payload.count <= min(Self.mostPacked, limits.packBytes) && (!pack.isEmpty || limits.descriptors > 0)
  }

  private func lends(_ payload: Payload) -> Bool {
    (payload.isShareable || isClean && payload.count > Self.leastLent) && limits.descriptors > 0
      && payload.count <= limits.bytes
  }
}

extension CachedImage { fileprivate var costInIndex: Int { cost - payload.cost } }
