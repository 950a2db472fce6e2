// Pictures that were handed out, for clients that ask for the same ones soon after.
//
// A page may show the same picture ten times, and a thousand readers may open the page at once. Each time the target would
// be read and admitted, and the daemon asked, which would send a descriptor. A held picture is found by the target itself,
// and is given as long as it is fresh, for ten seconds at most. Then the daemon is asked again, and so knows which pictures
// are in use when it makes room.
//
// The daemon reports what it purges, stores and evicts: as long as it does not, nothing is held.

internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// A picture that was delivered whole.
final class HeldPicture {
  fileprivate let place: HeldPictures.Place
  fileprivate let asked: Instant
  fileprivate let end: Instant
  private(set) var headers: PictureHeaders
  let response: HTTPResponse

  fileprivate init(_ place: HeldPictures.Place, _ headers: PictureHeaders, _ response: HTTPResponse, at now: Instant) {
    self.place = place
    self.headers = headers
    self.response = response
    asked = now
    end = now + min(HeldPictures.lifetime, .seconds(headers.freshFor))
  }

  /// Has its answers say how old it is now.
  fileprivate func age(to now: Instant) {
    let seconds = Int((now - asked).components.seconds)
    if seconds != headers.held { tell(age: seconds) }
  }

  /// Has its answers say that it is held, and how old it is.
  fileprivate func tell(age seconds: Int) {
    headers.held = seconds
    headers.status = CacheStatus(ofHeldFor: headers.facts.freshFor - seconds)
    response.replace("Age", by: String(headers.age))
    response.replace(CacheStatus.field, by: headers.status.text)
  }
}

/// The pictures that this thread has handed out in the last seconds.
final class HeldPictures {
  /// The request that a picture answers, and what was known when the daemon was asked for it.
  struct Place {
    fileprivate let target: HeldTarget
    /// The formats that the client takes; nil if the picture does not depend on them.
    fileprivate let formats: [OutputFormat]?
    /// The origin that its answers name.
    fileprivate let origin: String?
    fileprivate let slot: Int
    /// The numbers of drops and of changes before it was asked for.
    fileprivate let mark: Int
    fileprivate let changes: UInt32
  }

  /// So many are held even where descriptors are few.
  static let fewest = 512
  /// The answers to so many take some nine megabytes.
  static let most = 2_048
  /// Of all threads together: each may be mapped, and the kernel maps twice as many pieces for a process.
  static let mostInAll = 32_768
  static let lifetime = Duration.seconds(10)
  /// After this long without a request for a picture, the daemon need not report every change.
  static let patience = Duration.seconds(30)
  /// The time between two attempts to subscribe.
  private static let pause = Duration.seconds(1)
  private static let longestTarget = 2_048
  private static let slots = 4_096

  private let link: DaemonLink
  private let loop: EventLoop
  private let room: Int
  private var pictures: [HeldTarget: [HeldPicture]] = [:]
  /// The same in the order in which the daemon was asked, in which it evicts them, and some that others have replaced.
  private var inOrder = Fifo<HeldPicture>()
  private var sweep: Timer?
  /// Counts the drops: a picture that was asked for before a drop is not held after it.
  private var mark = 0
  /// How often a picture was stored, by the hash of its URL.
  private var changes = [UInt32](repeating: 0, count: slots)
  private var events: EventSubscription?
  private var isTold = false
  /// When there was last a picture to hold.
  private var lastUse: Instant
  /// There is no further attempt to subscribe before this.
  private var nextAttempt: Instant

  /// Holds as many as there is `room` for.
  init(link: DaemonLink, on loop: EventLoop, room: Int) {
    self.link = link
    self.loop = loop
    self.room = room
    nextAttempt = loop.now
    lastUse = loop.now
  }

  deinit {
    sweep?.cancel()
    events?.close()
  }

  /// The picture that a target stands for, if it is held for an origin; `formats` are those that the client takes.
  func find(_ target: String, for origin: String?, formats: () -> [OutputFormat]) -> HeldPicture? {
    guard let held = pictures[HeldTarget(target)] else { return nil }
    let heard = mark
    hearOfChanges()
    guard heard == mark else { return nil }
    let taken = held.first?.place.formats == nil ? nil : formats()
    guard let picture = held.first(where: { $0.place.formats == taken && $0.place.origin == origin }), isGood(picture)
    else { return nil }
    picture.age(to: loop.now)
    return picture
  }

  /// The place for a picture that is about to be asked for.
  func place(for target: String, of origin: String?, formats: [OutputFormat]?, url: String) -> Place {
    let slot = Self.slot(of: url)
    return Place(
      target: HeldTarget(target), formats: formats, origin: origin, slot: slot, mark: mark, changes: changes[slot])
  }

  /// Holds a picture that other clients may be given as well.
  func keep(_ headers: PictureHeaders, _ response: HTTPResponse, as place: Place) {
    guard headers.facts.mayBeKept, headers.freshFor > 0, place.target.bytes.count <= Self.longestTarget else { return }
    lastUse = loop.now
    guard isTold else { return listen() }
    let picture = HeldPicture(place, headers, response, at: loop.now)
    response.isSentAgain = true
    // The first answer, which tells where it came from, is sent in this tick.
    loop.nextTick { [weak self] in self?.hold(picture) }
  }

  private func hold(_ picture: HeldPicture) {
    let place = picture.place
    removeEnded()
    guard isTold, place.mark == mark, isGood(picture), inOrder.count < room else { return }
    if let former = pictures[place.target]?.first(where: {
      $0.place.formats == place.formats && $0.place.origin == place.origin
    }) {
      guard !isGood(former) else { return }
      remove(former)
    }
    picture.tell(age: 0)
    pictures[place.target, default: []].append(picture)
    inOrder.append(picture)
    // A sweep that is planned while nothing is held only waits to end the subscription.
    if inOrder.count == 1 { sweep.take()?.cancel() }
    armSweep()
  }

  /// Drops all held pictures: they may have been purged.
  func drop() {
    mark &+= 1
    pictures = [:]
    inOrder = Fifo()
    sweep.take()?.cancel()
    armSweep()
  }

  private func isGood(_ picture: HeldPicture) -> Bool {
    loop.now < picture.end && changes[picture.place.slot] == picture.place.changes
  }

  // MARK: Their end

  private func remove(_ picture: HeldPicture) {
    pictures[picture.place.target]?.removeAll { $0 === picture }
    if pictures[picture.place.target]?.isEmpty == true { pictures[picture.place.target] = nil }
  }

  private func removeEnded() {
    while let first = inOrder.first, first.asked + Self.lifetime <= loop.now { removeFirst() }
  }

  private func removeFirst() {
    guard let first = inOrder.popFirst() else { return }
    remove(first)
  }

  /// Lets so many bytes go, as the daemon did: as long as they are held here, they stay in memory.
  private func giveUp(_ bytes: Int) {
    var rest = bytes
    while rest > 0, let first = inOrder.first {
      rest -= first.headers.facts.bytes
      removeFirst()
    }
  }

  private func armSweep() {
    guard sweep == nil, let next = nextSweep else { return }
    sweep = loop.schedule(after: next - loop.now) { [unowned self] in
      sweep = nil
      removeEnded()
      if inOrder.isEmpty, loop.now >= lastUse + Self.patience { stopListening() }
      armSweep()
    }
  }

  /// When the oldest picture ends, or changes need not be reported any more.
  private var nextSweep: Instant? {
    if let first = inOrder.first { return first.asked + Self.lifetime }
    return events == nil ? nil : lastUse + Self.patience
  }

  // MARK: The daemon's word

  /// Reads the events. When a purge was answered before a request came, its event has come as well, though the loop may
  /// reach the request first: in the tick in which it has read them before, too.
  private func hearOfChanges() { if events?.takeArrived() == false { drop() } }

  private func listen() {
    guard events == nil, loop.now >= nextAttempt else { return }
    nextAttempt = loop.now + Self.pause
    events = link.subscribe(
      to: [.cache, .config],
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
    Heap.giveBack()
  }

  private func receive(_ event: Reply) {
    switch (event.event, event.text("what")) {
    case ("cache", "stored"): if let url = event.text("url") { changes[Self.slot(of: url)] &+= 1 }
    case ("cache", "evicted"): giveUp(event.number("bytes") ?? 0)
    default: drop()
    }
  }

  private static func slot(of url: String) -> Int { Int(UInt(bitPattern: url.hashValue) % UInt(slots)) }
}

/// A target by its bytes: of two texts that Swift takes for the same, an origin may know one.
private struct HeldTarget: Hashable {
  let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Takes them in by words: an array hashes its elements one by one.
  func hash(into hasher: inout Hasher) { unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
}
