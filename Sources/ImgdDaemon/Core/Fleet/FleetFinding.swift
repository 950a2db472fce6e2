import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdSystem
import ImgdWire

/// The outcome of a look at the fleet's server, for a fetch that has waited for it.
enum FleetFinding {
  /// The origin has to be asked; with a claim, other hosts wait for what it says.
  case nothing(FleetClaim?)
  /// Others who waited began to ask the origin a while ago, and may have its answer already.
  case nothingEarlier
  /// What was found is of no use. It can be claimed, so that a picture takes its place.
  case replaceable(stamp: UInt64)
  /// There is a picture, fresh or not.
  case picture(FleetFound)
}

/// A picture that another host has fetched, or that this one fetched in an earlier life.
final class FleetFound {
  let image: CachedImage
  /// Tells it apart from others under its key.
  let stamp: UInt64
  /// The tiers of this machine in which it is wanted.
  let tiers: Set<Tier>
  /// Whether it has been put into those tiers.
  var hasRisen = false

  init(_ image: CachedImage, stamp: UInt64, for lookup: FleetLookup) {
    self.image = image
    self.stamp = stamp
    tiers = lookup.tiers
  }
}

extension FleetPicture {
  /// The image that a value of the server stands for; nil if the value is about another key, or makes no sense.
  ///
  /// Its bytes say what the picture is, the request says what its answer depends on, and only its age says when it was
  /// stored: other hosts may err, and their clocks may be off.
  func image(_ picture: PictureMeasures, for lookup: FleetLookup, at now: Instant) -> CachedImage? {
    let key = lookup.name.key
    return CachedImage.make(
      record, key: key.key, payload: payload, facts: ImageFacts(picture), sent: key.sent, vary: { key.outcome(of: $0) },
      serial: lookup.serial, checked: lookup.checked,
      stored: StoredMoment(age: age, now: now, nowWall: WallClock.seconds))
  }
}
