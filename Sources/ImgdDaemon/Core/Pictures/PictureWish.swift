import ImgdWire

/// What a fetch wants of a picture at its present hop, as far as it matters where one picture is got for several
/// fetches.
struct PictureWish {
  /// The most that a transfer may take for it.
  struct Allowance: Equatable {
    var bytes: Int
    var time: Duration

    mutating func widen(to other: Allowance) {
      bytes = max(bytes, other.bytes)
      time = max(time, other.time)
    }
  }

  let mode: CacheMode
  /// Whether the fetch is the daemon's own, to confirm what was shown stale.
  let isRefresh: Bool
  /// Whether a redirect has led here.
  let isRedirected: Bool
  /// The claimant for whom it waits.
  let claimant: Claimant
  let priority: Priority
  let allowance: Allowance
  let tags: [String]
  /// The lifetime that the request sets, in seconds.
  let ttl: Int?
  /// The tiers of this machine in which the picture is wanted.
  let tiers: Set<Tier>
  let keepsInFleet: Bool

  init(
    _ request: FetchRequest, _ mode: CacheMode, by claimant: Claimant, allowance: Allowance, isRefresh: Bool,
    isRedirected: Bool
  ) {
    self.mode = mode
    self.isRefresh = isRefresh
    self.isRedirected = isRedirected
    self.claimant = claimant
    self.allowance = allowance
    priority = request.priority
    tags = request.tags
    ttl = request.ttl
    tiers = request.tiers
    keepsInFleet = request.keepsInFleet
  }

  /// Whether it wants the picture kept.
  var isForKeeping: Bool { !tiers.isEmpty || keepsInFleet }
}
