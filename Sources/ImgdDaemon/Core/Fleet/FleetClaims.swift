import ImgdCache
import ImgdFleet
import ImgdSystem

/// The claims of this host, and the pictures that it stores in the fleet's server.
///
/// Each claim ends in one of two ways: its picture is stored, or it is released.
final class FleetClaims {
  /// Often enough that a claim of ten seconds survives a lost renewal.
  private static let renewalPause = Duration.seconds(3)

  private let fleet: any Fleet
  private let counts: FleetTier.Counts
  private let loop: EventLoop
  private var settings: Configuration
  private var open: [UInt64: FleetClaim] = [:]
  /// The claims that a download is meant to fulfil, by its number.
  private var ofDownloads: [UInt64: FleetClaim] = [:]
  /// The bytes of the pictures that are on their way to the server.
  private var leaving: [UInt64: Int] = [:]
  private(set) var bytesLeaving = 0

  init(_ fleet: any Fleet, _ counts: FleetTier.Counts, loop: EventLoop, settings: Configuration) {
    self.fleet = fleet
    self.counts = counts
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  func isOpen(_ serial: UInt64) -> Bool { open[serial] != nil }

  func open(_ serial: UInt64, isForDownload: Bool) -> FleetClaim {
    let claim = FleetClaim(serial: serial, isForDownload: isForDownload)
    open[serial] = claim
    renew(claim)
    return claim
  }

  /// Has a download fulfil a claim, unless either of them has another already.
  func attach(_ claim: FleetClaim, to download: MergedDownload) {
    guard isOpen(claim.serial), claim.download == nil, ofDownloads[download.serial] == nil else { return }
    ofDownloads[download.serial] = claim
    claim.download = download
  }

  func claim(of download: MergedDownload) -> FleetClaim? { ofDownloads[download.serial] }

  private func renew(_ claim: FleetClaim) {
    claim.renewal = loop.schedule(after: Self.renewalPause) { [unowned self, unowned claim] in
      if claim.takeProgress() { fleet.renew(serial: claim.serial) }
      renew(claim)
    }
  }

  /// Gives a claim back. Where the origin no longer has the picture, `removing` takes it from the server.
  func release(_ claim: FleetClaim, removing: Bool) {
    if close(claim) { fleet.release(serial: claim.serial, removing: removing) }
  }

  /// Gives all claims back, at the end.
  func releaseAll() { for claim in open.values { release(claim, removing: false) } }

  private func close(_ claim: FleetClaim) -> Bool {
    claim.renewal?.cancel()
    if let serial = claim.downloadSerial { ofDownloads[serial] = nil }
    return open.removeValue(forKey: claim.serial) != nil
  }

  /// Stores the picture of a download for other hosts, which fulfils its claim; false where it is of no use to them.
  func keep(_ image: CachedImage, of download: MergedDownload, since mark: FleetPosition) -> Bool {
    let claim = claim(of: download)
    return keep(
      image, under: claim, serial: claim?.serial ?? download.serial, begunAt: download.begunAt ?? loop.now, since: mark)
  }

  /// Stores what was fetched or made since a moment, in the same way.
  func keep(
    _ image: CachedImage, under claim: FleetClaim?, serial: UInt64, begunAt: Instant, since mark: FleetPosition
  ) -> Bool {
    let lifetime = lifetime(of: image)
    guard lifetime > .zero, let record = StoredRecord(image, wall: WallClock.seconds, at: loop.now),
      record.mostBytes + image.byteCount <= settings.fleet.maxObject
    else { return false }
    if let claim { _ = close(claim) }
    leaving[serial] = image.byteCount
    bytesLeaving += image.byteCount
    fleet.store(
      FleetStore(
        serial: serial, record: record, payload: image.payload, age: loop.now - image.storedAt,
        begunAgo: loop.now - begunAt, mark: mark, lifetime: lifetime))
    return true
  }

  /// Deletes a picture from the server without a claim.
  func remove(_ digest: KeyDigest) { fleet.remove(digest) }

  /// How long the server keeps a picture: not beyond what its origin grants, if it cannot be confirmed. An answer without
  /// one is asked for anew when it is stale.
  private func lifetime(of image: CachedImage) -> Duration {
    let most = settings.fleet.ttl
    guard image.isPicture else { return min(most, image.freshness.remaining) }
    guard !image.response.canBeConfirmed else { return most }
    let freshness = image.freshness
    guard !freshness.needsConfirmation else { return .zero }
    let ifError = freshness.mustRevalidate ? .zero : settings.http.staleIfError
    let stale = max(freshness.staleWhileRevalidate, freshness.staleIfError ?? ifError)
    return min(most, max(freshness.remaining, .zero) + stale)
  }

  func receive(_ end: FleetStoring, for serial: UInt64) {
    guard let bytes = leaving.removeValue(forKey: serial) else { return }
    bytesLeaving -= bytes
    switch end {
    case .kept:
      counts.stores += 1
      counts.bytesStored += bytes
    case .overtaken: counts.overtaken += 1
    case .tooLarge, .refused: counts.refused += 1
    }
  }
}

/// This host's promise to fetch a picture, or to make a form: other hosts wait for it.
///
/// It ends once, with the picture or without.
final class FleetClaim {
  let serial: UInt64
  /// The transfer that brings the picture; nil as long as there is none.
  weak var download: MergedDownload? { didSet { downloadSerial = download?.serial } }
  private(set) var downloadSerial: UInt64?
  /// Runs out when the claim may have to be renewed.
  var renewal: Timer?
  private var seen = 0
  /// A decoder says nothing until it has ended: the claim of what it makes is renewed in any case.
  private let isForDownload: Bool

  init(serial: UInt64, isForDownload: Bool) {
    self.serial = serial
    self.isForDownload = isForDownload
  }

  /// Whether anything has come from the origin since this was last asked, or nothing can be known.
  func takeProgress() -> Bool {
    guard isForDownload else { return true }
    guard let download, download.state == .running, download.hasHeaders else { return false }
    let now = download.received + 1
    defer { seen = now }
    return now != seen
  }
}
