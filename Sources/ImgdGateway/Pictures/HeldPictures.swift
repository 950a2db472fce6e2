// Pictures that were just handed out, for clients that ask for the same ones a moment later.
//
// A page may show the same picture ten times, and a thousand readers may open the page at once. Each time the daemon
// would be asked, and would send a descriptor. A held picture is what the daemon answered at most a second ago, and the
// daemon reports purges: as long as it does not, nothing is held.

internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// A picture that was delivered whole.
struct HeldPicture {
  let headers: PictureHeaders
  let response: HTTPResponse
}

/// The pictures of the last second.
final class HeldPictures {
  /// The request that a picture answers.
  struct Key: Hashable {
    let line: [UInt8]
    /// Whether the line depends on the client.
    let varies: Bool
    /// The end of the target.
    let expires: Int?
    let disposition: Disposition

    /// Takes the line in by words: an array hashes its elements one by one.
    func hash(into hasher: inout Hasher) {
      unsafe line.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
      hasher.combine(expires)
      hasher.combine(disposition)
    }
  }

  /// The place where a picture that is being asked for will be held.
  struct Place {
    let key: Key
    /// The number of drops before it was asked for.
    let mark: Int
  }

  private final class Entry {
    let key: Key
    let picture: HeldPicture
    let end: Instant

    init(_ key: Key, _ picture: HeldPicture, end: Instant) {
      self.key = key
      self.picture = picture
      self.end = end
    }
  }

  static let most = 512
  private static let longestLine = 2_048
  private static let lifetime = Duration.seconds(1)
  /// After this long without a request for a picture, the daemon need not report every change.
  static let patience = Duration.seconds(30)

  private let link: DaemonLink
  private let loop: EventLoop
  private var entries: [Key: Entry] = [:]
  /// The same in the order in which they end.
  private var inOrder = Fifo<Entry>()
  private var sweep: Timer?
  /// Counts the drops: a picture that was asked for before a drop is not held after it.
  private(set) var mark = 0
  private var events: EventSubscription?
  private var isTold = false
  /// When there was last a picture to hold.
  private var lastUse: Instant
  /// There is no further attempt to subscribe before this.
  private var nextAttempt: Instant

  init(link: DaemonLink, on loop: EventLoop) {
    self.link = link
    self.loop = loop
    nextAttempt = loop.now
    lastUse = loop.now
  }

  deinit {
    sweep?.cancel()
    events?.close()
  }

  /// The picture that answers a request, if it was delivered within the last second.
  func find(_ key: Key, at now: Instant) -> HeldPicture? {
    guard let entry = entries[key] else { return nil }
    let heard = mark
    hearOfPurges()
    return heard == mark && now < entry.end ? entry.picture : nil
  }

  /// Holds a picture that other clients may be given as well.
  func keep(_ picture: HeldPicture, as place: Place) {
    let facts = picture.headers.facts
    guard facts.mayBeKept, facts.freshFor > 0, place.key.line.count <= Self.longestLine else { return }
    lastUse = loop.now
    guard isTold else { return listen() }
    removeEnded()
    guard place.mark == mark, entries[place.key] == nil, entries.count < Self.most else { return }
    let entry = Entry(place.key, picture, end: loop.now + Self.lifetime)
    entries[place.key] = entry
    inOrder.append(entry)
    // A sweep that is planned while nothing is held only waits to end the subscription.
    if entries.count == 1 { sweep.take()?.cancel() }
    armSweep()
  }

  /// Drops all held pictures: they may have been purged.
  func drop() {
    mark &+= 1
    entries = [:]
    inOrder = Fifo()
    sweep.take()?.cancel()
    armSweep()
  }

  // MARK: Their end

  private func removeEnded() {
    while let first = inOrder.first, first.end <= loop.now {
      entries[first.key] = nil
      _ = inOrder.popFirst()
    }
  }

  private func armSweep() {
    guard sweep == nil, let next = nextSweep else { return }
    sweep = loop.schedule(after: next - loop.now) { [unowned self] in
      sweep = nil
      removeEnded()
      if entries.isEmpty, loop.now >= lastUse + Self.patience { stopListening() }
      armSweep()
    }
  }

  /// When the oldest picture ends, or purges need not be reported any more.
  private var nextSweep: Instant? {
    if let first = inOrder.first { return first.end }
    return events == nil ? nil : lastUse + Self.patience
  }

  // MARK: The daemon's word

  /// Reads the events. When a purge was answered before a request came, its event has come as well, though the loop may
  /// reach the request first: in the tick in which it has read them before, too.
  private func hearOfPurges() { if events?.takeArrived() == false { drop() } }

  private func listen() {
    guard events == nil, loop.now >= nextAttempt else { return }
    nextAttempt = loop.now + Self.lifetime
    events = link.subscribe(
      to: .cache,
      onBegin: { [unowned self] _ in
        // Pictures that were asked for earlier may have been purged before the subscription.
        drop()
        isTold = true
      }, onEvent: { [unowned self] in receive($0) },
      onLost: { [unowned self] in
        events = nil
        isTold = false
        drop()
      })
    armSweep()
  }

  private func stopListening() {
    events.take()?.close()
    isTold = false
    drop()
  }

  private func receive(_ event: Reply) {
    switch (event.event, event.text("what")) {
    case ("cache", "stored"), ("cache", "evicted"): break
    default: drop()
    }
  }
}
