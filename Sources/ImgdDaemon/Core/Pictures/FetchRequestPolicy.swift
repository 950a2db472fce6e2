import ImgdCache
import ImgdWire

// The daemon's reading of a request.

extension FetchRequest {
  /// Whether a hit is found by URL and identifier alone, and shown without a decoder.
  var isPlain: Bool {
    wait && !detach && !events && delivery != .pixels
      && (cache == .default_ || cache == .forceCache || cache == .onlyIfCached) && (!hasExtras || extras.leavesHits)
  }

  /// The variant of a plain request: its user's own, where it has an identifier.
  func plainVariant(of uid: UInt32) -> KeyVariant? {
    identifier == nil ? nil : KeyVariant(identifier: identifier, uid: uid)
  }

  /// The deadline of this request alone.
  var timeout: Duration? { timeoutMilliseconds.map { .milliseconds($0) } }

  /// What its transfer may take, within what every transfer may.
  func allowance(within limits: Configuration.Downloads) -> PictureWish.Allowance {
    PictureWish.Allowance(bytes: min(maxBytes ?? limits.maxBytes, limits.maxBytes), time: timeout ?? limits.timeout)
  }

  /// Whether the memory tier may keep the picture.
  var keepsInMemory: Bool { cache.keeps && store.allowsMemory }

  /// Whether the disk tier may keep the picture.
  var keepsOnDisk: Bool { cache.keeps && store.allowsDisk }

  /// Whether the fleet's server may keep the picture.
  var keepsInFleet: Bool { cache.keeps && store.allowsFleet }

  /// The tiers of this machine that may keep the picture.
  var tiers: Set<Tier> {
    var tiers: Set<Tier> = []
    if keepsInMemory { tiers.insert(.memory) }
    if keepsOnDisk { tiers.insert(.disk) }
    return tiers
  }

  /// The request that confirms the stored picture; no client waits for its answer.
  var refreshing: FetchRequest {
    var request = FetchRequest(url: url)
    request.identifier = identifier
    request.cache = .noCache
    request.delivery = .none
    request.store = store
    request.priority = .low
    request.extras.headers = headers
    request.extras.tags = tags
    request.extras.ttl = ttl
    return request
  }
}

extension FetchExtras {
  /// Whether hits are found and shown as they are without these fields: the others are about downloads, and about
  /// decoders.
  fileprivate var leavesHits: Bool { slot == nil && headers.isEmpty && form == PictureForm() && maxBytes == nil }
}

extension Delivery {
  /// Whether an answer takes memory or a descriptor for the picture until the client has read it.
  var bringsBytes: Bool { self == .inline || self == .fd || self == .pixels }
}
