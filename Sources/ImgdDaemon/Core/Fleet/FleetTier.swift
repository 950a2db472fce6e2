import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdProgram
import ImgdSystem
import ImgdWire

/// The tier between disk and origin: pictures that other hosts have fetched, too.
final class FleetTier {
  /// Counters since the start, for `stats`.
  final class Counts {
    /// Looks that have found a picture, and those that have not.
    var hits = 0
    var misses = 0
    /// Looks that had to wait for another host.
    var waits = 0
    /// Looks without an answer.
    var timeouts = 0
    var stores = 0
    var refused = 0
    /// Pictures that were not stored because their claims no longer stood.
    var overtaken = 0
    /// Values that could not be used.
    var invalid = 0
    var bytesRead = 0
    var bytesStored = 0
  }

  /// Nil for a machine without a fleet.
  private let parts: (lookups: FleetLookups, claims: FleetClaims, pictures: FleetPictures, forms: FleetForms)?
  let counts = Counts()
  private let purges: FleetPurges
  private let history: PurgeHistory
  private let pictures: PictureTiers
  private let downloader: Downloader
  private let origins: OriginRules
  private(set) var state = FleetState(.connecting)
  /// The servers for pictures, if there are any beside the one whose state that is.
  private(set) var pictureServers: [(name: String, state: FleetState)]
  /// The states that were logged last.
  private var told: FleetState?
  private var toldOfPictures: [FleetState?]
  /// By how many seconds this machine's clock is behind the one that all hosts go by.
  private(set) var secondsAhead: Int64 = 0
  /// How many bytes the server keeps at most, 0 for no limit; nil as long as that is not known.
  private(set) var mostMemory: Int?

  init(
    _ fleet: (any Fleet)?, purges: FleetPurges, pictures: PictureTiers, downloader: Downloader,
    origins: OriginRules, turns: Turns, loop: EventLoop, settings: Configuration
  ) {
    self.purges = purges
    let history = purges.history
    self.history = history
    self.pictures = pictures
    self.downloader = downloader
    self.origins = origins
    pictureServers = fleet == nil ? [] : settings.fleet.pictures.map { ($0, FleetState(.connecting)) }
    toldOfPictures = pictureServers.map { _ in nil }
    parts = fleet.map { [counts] fleet in
      let claims = FleetClaims(fleet, counts, loop: loop, settings: settings)
      let lookups = FleetLookups(
        fleet, counts, claims: claims, pictures: pictures, serials: downloader.nextSerial, turns: turns, loop: loop,
        settings: settings)
      return (
        lookups: lookups, claims: claims,
        pictures: FleetPictures(lookups, counts, history: history, loop: loop, settings: settings),
        forms: FleetForms(lookups, counts, claims: claims, history: history)
      )
    }
  }

  func apply(_ settings: Configuration) {
    parts?.lookups.apply(settings)
    parts?.claims.apply(settings)
    parts?.pictures.apply(settings)
  }

  /// The state, if something is wrong; its reason names the server and is not for everybody.
  var trouble: String? { state.phase != .ok && state.reason != nil ? state.phase.rawValue : nil }

  var heldBytes: Int { parts?.claims.bytesLeaving ?? 0 }

  var latency: LatencyHistogram { parts?.lookups.latency ?? LatencyHistogram() }

  /// The time by the clock that all hosts go by, in seconds since 1970; without a fleet, this machine's.
  var wallSeconds: Int64 { WallClock.seconds + secondsAhead }

  /// Looks for what is wanted; `then` is called later. Nil where that is of no use, and nothing was begun.
  func lookUp(_ key: MergeKey, _ wish: @autoclosure () -> PictureWish, then: @escaping (FleetFinding) -> Void)
    -> FleetLookups.Place?
  {
    guard let pictures = readable else { return nil }
    let wish = wish()
    guard wish.mode.counts, wish.mode.usesUnconfirmed || wish.isRefresh, let digest = digestForAll(key) else {
      return nil
    }
    let claims = wish.mode != .onlyIfCached
    if claims, downloader.hasShare(for: key, wish) { return nil }
    return pictures.lookUp(key, wish, digest, claims && state.phase == .ok ? .claiming : .reading, then: then)
  }

  /// Claims what a look has found, which is then confirmed or fetched again. Nil for the same reasons.
  func claim(_ stamp: UInt64, for key: MergeKey, _ wish: PictureWish, then: @escaping (FleetFinding) -> Void)
    -> FleetLookups.Place?
  {
    guard let pictures = readable, state.phase == .ok, !downloader.hasShare(for: key, wish),
      let digest = digestForAll(key)
    else { return nil }
    return pictures.lookUp(key, wish, digest, .replacing, replacing: stamp, then: then)
  }

  /// Nothing can be used while it is not known what was purged.
  private var readable: FleetPictures? { state.isReadable && history.position != nil ? parts?.pictures : nil }

  func isLooking(for key: MergeKey) -> Bool { parts?.lookups.isUnderWay(key) == true }

  func leave(_ place: FleetLookups.Place) { parts?.lookups.leave(place) }

  /// Keeps a picture that is being shown, in the tiers in which it is wanted.
  func rise(_ found: FleetFound) {
    guard !found.hasRisen, !found.tiers.isEmpty else { return }
    found.hasRisen = true
    pictures.keep(found.image, wanted: found.tiers, in: .all)
  }

  /// Remembers an answer without a picture that is given to a fetch.
  func remember(_ found: FleetFound) {
    guard !found.hasRisen, !found.tiers.isEmpty else { return }
    found.hasRisen = true
    pictures.keep(answer: found.image)
  }

  /// Notes, before a transfer, which purges it comes after, and the claim that it is meant to fulfil.
  func attach(_ claim: FleetClaim?, to download: MergedDownload) {
    if download.state == .queued, download.mark == nil { download.mark = history.position }
    if let claim { parts?.claims.attach(claim, to: download) }
  }

  /// Stores what a download has brought, if it is for everybody; else removes what others would find afterwards. What
  /// was confirmed without its bytes says nothing about what others have.
  func keep(_ image: CachedImage, of download: MergedDownload) {
    guard !download.isPurged, image.hasBody, !download.leavesFleet else { return giveUp(download) }
    share(image, of: download)
  }

  /// Stores an answer without a picture in its place, if its origin has named the time for which that holds; else removes
  /// what others would find.
  func keep(answer: CachedImage?, named isNamed: Bool, of download: MergedDownload) {
    guard !download.isPurged else { return giveUp(download) }
    let isForAll = [404, 410].contains(answer?.response.status ?? 0) || answer?.redirect != nil
    guard let answer, isNamed, isForAll, !answer.freshness.needsConfirmation, !download.leavesFleet else {
      return remove(download)
    }
    share(answer, of: download)
  }

  private func share(_ image: CachedImage, of download: MergedDownload) {
    guard let claims = parts?.claims, state.phase == .ok, let mark = download.mark,
      digestForAll(download.mergeKey) != nil, image.key == download.mergeKey.key, image.freshness.refusal == nil,
      download.wishes.contains(where: \.keepsInFleet), claims.keep(image, of: download, since: mark)
    else { return remove(download) }
  }

  /// Gives back the claim, if any, of a download that brings no picture for everybody.
  func giveUp(_ download: MergedDownload) {
    if let claim = parts?.claims.claim(of: download) { parts?.claims.release(claim, removing: false) }
  }

  /// Removes what the server has, which is no longer right, and gives back the claim of the download, if any.
  func remove(_ download: MergedDownload) {
    if let claim = parts?.claims.claim(of: download) {
      parts?.claims.release(claim, removing: true)
    } else if state.phase == .ok, history.position != nil, let digest = digestForAll(download.mergeKey) {
      parts?.claims.remove(digest)
    }
  }

  /// Has the server forget what is under a key, since it was purged here in a way that others cannot tell.
  func remove(_ digest: KeyDigest) {
    if state.phase == .ok, history.position != nil { parts?.claims.remove(digest) }
  }

  /// The digest under which other hosts find an answer; nil for what is not for everybody. What the credentials of this
  /// machine have opened is for this machine.
  private func digestForAll(_ key: MergeKey) -> KeyDigest? { isForAll(key.key.url) ? key.digestForAll : nil }

  private func isForAll(_ url: CanonicalURL) -> Bool {
    guard url.scheme != .s3 else { return false }
    return origins[url].map { $0.headers == nil && $0.credentials == nil } ?? true
  }

  // MARK: Forms

  /// Whether a form of a picture may be found in the fleet.
  func mayHaveForms(of original: CachedImage) -> Bool {
    readable != nil && original.isForAllHosts && isForAll(original.url)
  }

  /// Looks for a form of a picture that may be shown here and was not purged; nil where that is of no use. With `claims`
  /// it is made here, and for all, if it is not there.
  func lookUp(
    _ key: CacheKey, of original: CachedImage, claims: Bool,
    accept: @escaping (FleetPicture, PictureMeasures) -> CachedImage?,
    then: @escaping (CachedImage?) -> Void
  ) -> FormLook? {
    guard mayHaveForms(of: original), let forms = parts?.forms, let digest = key.digest else { return nil }
    let mark = state.phase == .ok ? purges.inForce : nil
    let look = FormLook(
      key, digest, of: original, claims: claims && mark != nil, mark: mark, accept: accept, then: then)
    forms.begin(look)
    return look
  }

  /// Stores a form that was made after a look.
  func keep(_ image: CachedImage, after look: FormLook) {
    if state.phase == .ok { parts?.forms.keep(image, after: look) } else { giveUp(look) }
  }

  /// Ends a look, and gives back its claim, if any.
  func giveUp(_ look: FormLook) { parts?.forms.giveUp(look) }

  func giveBackAll() { parts?.claims.releaseAll() }

  func receive(_ report: FleetReport) {
    guard let parts else { return }
    switch report.event {
    case .state(let state):
      self.state = state
      Self.log(state, of: "the fleet's server", after: &told)
    case .pictures(let server, let state):
      pictureServers[server].state = state
      let name = pictureServers[server].name
      Self.log(state, of: "the fleet's server for pictures \(name)", after: &toldOfPictures[server])
    case .looked(let serial, let answer): parts.lookups.receive(answer, report.picture, for: serial)
    case .stored(let serial, let end): parts.claims.receive(end, for: serial)
    case .defect(_, let defect):
      counts.invalid += 1
      Log.debug(.fleet) { "a value of the fleet's server was deleted: it is \(defect.rawValue)" }
    case .clock(let ahead): secondsAhead = ahead
    case .memory(let limit): mostMemory = limit
    case .joined, .purges, .sent, .unsent, .unlisted, .hosts: break
    }
  }

  /// Writes a line for each change of a server's state. Trying one again is no change.
  private static func log(_ state: FleetState, of server: String, after told: inout FleetState?) {
    guard state.phase != .connecting, state != told else { return }
    // Each try may fail in a way of its own.
    if state.phase == .down, told?.phase == .down { return }
    told = state
    // The reason names the server.
    let reason = state.reason ?? "\(server) is \(state.phase.rawValue)"
    switch state.phase {
    case .connecting: break
    case .ok: Log.notice(.fleet, "\(server) is used")
    case .readOnly: Log.warning(.fleet, .fleetReadOnly, reason)
    case .down: Log.warning(.fleet, .fleetDown, reason)
    case .refused: Log.error(.fleet, .fleetRefused, reason)
    }
  }
}

extension MergeKey {
  /// The digest under which other hosts find the picture; nil for a picture that is not for everybody.
  var digestForAll: KeyDigest? {
    credentialNames.isEmpty && key.scope == nil && !isOwn && !hasCondition ? key.digest : nil
  }
}

/// The edge at which work for the fleet's server leaves the core. Reports come back through `Core.receive`.
///
/// A test replaces it: behind it are a thread and servers.
protocol Fleet: AnyObject {
  /// Begins to read the log of purges, which has to have the last one that was heard before; nil where none ever was.
  func join(from position: FleetPosition?)
  func look(_ look: FleetLook)
  /// Claims a picture that a look has found, which is then confirmed or fetched again; it stays readable.
  func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64)
  /// Extends a claim by its full time.
  func renew(serial: UInt64)
  /// Ends a look, or gives a claim back; `removing` deletes what is stored, since the origin no longer has it.
  func release(serial: UInt64, removing: Bool)
  /// Deletes what is stored, without a claim, since it is no longer right.
  func remove(_ digest: KeyDigest)
  func store(_ store: FleetStore)
  /// Puts a purge into the log; `sent` or `unsent` follows.
  func send(_ purge: FleetPurge)
  /// Writes what this host is like into the list of hosts.
  func announce(_ line: HostNote)
  /// Reads the list of hosts; `hosts` follows.
  func askForHosts()
}

/// An event of the fleet on its way to the core, with the picture that its value was recognised as.
struct FleetReport: Sendable {
  let event: FleetEvent
  /// What the bytes were recognised as; nil unless the event brings a picture, and for bytes that are not a picture.
  let picture: PictureMeasures?

  /// Recognises the picture. Called on the fleet's loop, so that no hit is delayed.
  init(_ event: FleetEvent) {
    self.event = event
    picture =
      if case .looked(_, .found(let found)) = event, !found.isAnswer {
        found.payload.withBytes { bytes in try? PictureProbe.recognise(bytes) }
      } else { nil }
  }
}

// Ages that other hosts have written: they may be anything.

extension Duration {
  /// The duration, as far as it makes sense for an age: nothing comes from the future, or is older than any machine.
  var asAge: Duration { min(max(self, .zero), .seconds(1 << 32)) }
}

extension Instant {
  /// The moment that lies `age` before this one.
  func before(_ age: Duration) -> Instant { self + (.zero - age.asAge) }
}

extension JSONWriter {
  /// The figures of the tier that hosts share.
  mutating func fleet(_ tier: FleetTier, _ purges: FleetPurges, server: String) {
    field("state", tier.state.phase.rawValue)
    if let reason = tier.state.reason { field("reason", reason) }
    field("server", server)
    let counts = tier.counts
    fields([
      "hits": counts.hits, "misses": counts.misses, "waits": counts.waits, "timeouts": counts.timeouts,
      "stores": counts.stores, "refused": counts.refused, "overtaken": counts.overtaken, "invalid": counts.invalid,
      "bytes_read": counts.bytesRead, "bytes_stored": counts.bytesStored, "clock_ahead_s": Int(tier.secondsAhead),
    ])
    if let limit = tier.mostMemory { field("maxmemory", limit) }
    object("purges") { line in
      line.fields([
        "sent": purges.counts.sent, "heard": purges.counts.heard, "pending": purges.pending, "waiting": purges.lag,
        "gaps": purges.counts.gaps,
      ])
      if let refusal = purges.refusal { line.field("reason", refusal) }
    }
    guard !tier.pictureServers.isEmpty else { return }
    array("pictures") { list in
      for server in tier.pictureServers {
        list.object { line in
          line.field("server", server.name)
          line.field("state", server.state.phase.rawValue)
          if let reason = server.state.reason { line.field("reason", reason) }
        }
      }
    }
  }
}
