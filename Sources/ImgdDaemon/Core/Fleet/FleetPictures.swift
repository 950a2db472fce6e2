// Pictures in the fleet, and answers without one, that fetches look for: which of those that are found may be shown here.
//
// A value was put there by another host, for the same key, and its bytes are those that were stored. It may make no
// sense, may have been purged since, and may be what this host would not take from the origin itself.

import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class FleetPictures {
  private let lookups: FleetLookups
  private let counts: FleetTier.Counts
  private let history: PurgeHistory
  private let loop: EventLoop
  private var settings: Configuration

  init(
    _ lookups: FleetLookups, _ counts: FleetTier.Counts, history: PurgeHistory, loop: EventLoop, settings: Configuration
  ) {
    self.lookups = lookups
    self.counts = counts
    self.history = history
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  /// Waits for a look of fetches that agree with this one, or begins one; with a stamp, it claims what a look has found.
  func lookUp(
    _ key: MergeKey, _ wish: PictureWish, _ digest: KeyDigest, _ purpose: FleetLookup.Purpose,
    replacing stamp: UInt64? = nil, then: @escaping (FleetFinding) -> Void
  ) -> FleetLookups.Place {
    lookups.lookUp(
      FleetLookup.Name(key: key, purpose: purpose), wish, digest, replacing: stamp,
      judge: { [unowned self] in finding($0, $1, for: key, $2) }, then: then)
  }

  private func finding(
    _ found: FleetPicture, _ picture: PictureMeasures?, for key: MergeKey, _ lookup: FleetLookup
  ) -> FleetFinding {
    if !found.isAnswer, picture == nil, PictureFormat(rawValue: found.record.facts.format) == nil {
      // Another version knows the format, and may show it.
      counts.misses += 1
      return .foundForOthers
    }
    let sound =
      found.isAnswer
      ? found.answer(for: key, lookup, at: loop.now)
      : picture.flatMap { found.image($0, for: key, lookup, at: loop.now) }
    guard let image = sound else {
      counts.invalid += 1
      return .replaceable(stamp: found.stamp)
    }
    let verdict = history.verdict(on: image.key, tags: image.tags, mark: found.mark, age: found.age)
    guard verdict != .purged else {
      counts.misses += 1
      return .replaceable(stamp: found.stamp)
    }
    guard accepts(image, picture, for: key) else {
      counts.misses += 1
      return .foundForOthers
    }
    if verdict == .stale { image.markStale() }
    counts.hits += 1
    let shown = FleetFound(image, stamp: found.stamp, for: lookup)
    return found.isAnswer ? .answer(shown) : .picture(shown)
  }

  /// Whether this host would take the picture, or the answer without one, from its origin itself, as far as that is known.
  private func accepts(_ image: CachedImage, _ picture: PictureMeasures?, for key: MergeKey) -> Bool {
    let isAccepted = picture.map { picture in
      settings.downloads.acceptTypes.contains { $0.rawValue == picture.format.name }
    }
    return isAccepted ?? true && image.byteCount <= settings.downloads.maxBytes && mayConnect(for: image, key)
  }

  /// Whether this host may connect to where another host has fetched a picture.
  private func mayConnect(for image: CachedImage, _ key: MergeKey) -> Bool {
    if let address = IPAddress(image.url.host) {
      return AddressRule(settings.network).permits(address, afterPublic: key.isAfterPublic)
    }
    if image.isFromPublicAddress { return true }
    return switch settings.network.privateAddresses {
    case .allow: true
    case .direct: !key.isAfterPublic
    case .deny: false
    }
  }
}

/// The outcome of a look at the fleet's server, for a fetch that has waited for it.
enum FleetFinding {
  /// The origin has to be asked; with a claim, other hosts wait for what it says.
  case nothing(FleetClaim?)
  /// Others who waited began to ask the origin a while ago, and may have its answer already.
  case nothingEarlier
  /// What was found is of no use. It can be claimed, so that a picture takes its place.
  case replaceable(stamp: UInt64)
  /// What was found is for other hosts, and stays as it is: the origin has to be asked, for this one alone.
  case foundForOthers
  case picture(FleetFound)
  /// A redirect, or a failure: what the origin has said to another host.
  case answer(FleetFound)
}

/// A picture, or an answer without one, that another host has fetched, or that this one fetched in an earlier life.
final class FleetFound {
  let image: CachedImage
  /// Tells it apart from others under its key.
  let stamp: UInt64
  /// The tiers of this machine in which it is wanted.
  let tiers: Tiers
  /// Whether it has been put into those tiers.
  var hasRisen = false
  /// Keeps it out where a newer one was kept in the meantime.
  private let arrival: LatestPictures.Arrival?

  init(_ image: CachedImage, stamp: UInt64, for lookup: FleetLookup) {
    self.image = image
    self.stamp = stamp
    tiers = lookup.tiers
    arrival = lookup.arrival
  }
}

extension FleetPicture {
  /// The image that a value of the server stands for; nil if the value is about another key, or makes no sense.
  ///
  /// Its bytes say what the picture is, the request says what its answer depends on, and only its age says when it was
  /// stored: other hosts may err, and their clocks may be off.
  func image(_ picture: PictureMeasures, for key: MergeKey, _ lookup: FleetLookup, at now: Instant) -> CachedImage? {
    image(ImageFacts(picture), for: key, lookup, at: now)
  }

  /// The same for an answer without a picture, of which hosts share redirects, 404 and 410.
  func answer(for key: MergeKey, _ lookup: FleetLookup, at now: Instant) -> CachedImage? {
    let isRedirect = record.redirectTarget.map { target in
      // No origin leads to a bucket, which this machine's keys might open.
      300..<400 ~= record.status && (try? CanonicalURL.parse(target)).map { $0.scheme != .s3 } ?? false
    }
    return isRedirect ?? [404, 410].contains(record.status) ? image(.none, for: key, lookup, at: now) : nil
  }

  private func image(_ facts: ImageFacts, for key: MergeKey, _ lookup: FleetLookup, at now: Instant) -> CachedImage? {
    CachedImage.make(
      record, key: key.key, payload: payload, facts: facts, sent: key.sent, vary: { key.outcome(of: $0) },
      owner: lookup.owner, serial: lookup.serial, checked: lookup.checked,
      stored: StoredMoment(age: age, now: now, nowWall: WallClock.seconds))
  }
}
