// Look-ups in the server, and the claims that they make.
//
// One trip reads what is under a key and claims it if there is nothing. A picture that another host fetches
// is looked for again and again for three seconds, and at once when its host says that it is there.
//
// The first byte of an answer has to come within the timeout, and after each pause the next one. Other looks wait for
// theirs while a large picture arrives; that they are late then says nothing about the server, which is patient with
// nobody: a picture that has not arrived after `FleetLook.longest` ends the connection.

internal import ImgdCache
internal import ImgdSystem

final class Looks {
  private static let patience: Duration = .seconds(3)
  private static let pauses: [Duration] = [25, 50, 100, 200].map { .milliseconds($0) }
  /// Far more than the fetches that can be under way.
  private static let most = 16_384

  private unowned let server: PictureServer
  private let claims: Claims
  private let wakeUps: WakeUps
  private var looks: [UInt64: PictureLook] = [:]
  /// The serials of the looks that wait, by the picture they wait for.
  private var held: [KeyDigest: Set<UInt64>] = [:]
  /// When a part of a value arrived last.
  private var heardAt: Instant?

  init(_ server: PictureServer, _ claims: Claims) {
    self.server = server
    self.claims = claims
    wakeUps = WakeUps(server)
    wakeUps.onWake = { [unowned self] digest, hasCome in wake(digest, hasCome: hasCome) }
  }

  func begin(_ order: FleetLook) {
    begin(PictureLook(serial: order.serial, claims.make(order.digest, .missing), claims: order.claims))
  }

  func begin(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    begin(PictureLook(serial: serial, claims.make(digest, .refresh), claims: true, old: stamp))
  }

  private func begin(_ look: PictureLook) {
    precondition(looks[look.serial] == nil, "a serial names one look")
    // The share of a server that is away is nowhere else.
    guard !server.isAway else { return server.report(.looked(serial: look.serial, .nothing)) }
    guard server.isReadable, looks.count < Self.most else {
      return server.report(.looked(serial: look.serial, .failed))
    }
    // Nothing can be claimed while the server cannot be written to.
    if look.old != nil, !server.isWritable { return server.report(.looked(serial: look.serial, .nothing)) }
    looks[look.serial] = look
    ask(look)
  }

  /// Forgets a look; a claim that it still wins is given back. False if it is not under way.
  func drop(_ serial: UInt64) -> Bool {
    guard let look = looks[serial] else { return false }
    forget(look)
    return true
  }

  /// Answers all looks with `failed`: the server will not answer them.
  func failAll() {
    wakeUps.close()
    for look in looks.values { answer(look, .failed) }
  }

  func stop() {
    for look in looks.values { forget(look) }
    wakeUps.close()
  }

  // MARK: A trip

  /// Sends the command that reads a picture and the one that claims it in one write.
  private func ask(_ look: PictureLook) {
    let trip = Trip(look, claims: look.claims && server.isWritable, at: server.loop.moment)
    look.isAsking = true
    limit(trip, to: server.settings.timeout)
    let end = look.old == nil ? mostBytes : FleetValue.headLength - 1
    let reading = RedisCommand("GETRANGE", server.keys.picture(look.digest), "0", String(end))
    let arriving = { [unowned self] in heard(of: trip) }
    server.send(reading, arriving: arriving) { [unowned self] reply in
      trip.value = reply
      if !trip.claims { arrived(trip) }
    }
    guard trip.claims else { return }
    server.send(look.claim.taking(in: server.keys)) { [unowned self] reply in
      trip.taken = reply
      arrived(trip)
    }
  }

  private var mostBytes: Int { FleetValue.mostBytes(picture: server.settings.maxObject) }

  private func limit(_ trip: Trip, to time: Duration) {
    trip.limit = server.loop.schedule(after: time) { [unowned self] in
      let due = trip.heardAt + server.settings.timeout
      if server.loop.now < due { limit(trip, to: due - server.loop.now) } else { late(trip) }
    }
  }

  /// A part of its value has arrived.
  private func heard(of trip: Trip) {
    let now = server.loop.moment
    let longest = FleetLook.longest(timeout: server.settings.timeout)
    guard now - trip.askedAt < longest else {
      return server.leave(FleetTrouble(.down, "a picture had not arrived after \(longest)"))
    }
    (trip.heardAt, heardAt) = (now, now)
    guard !trip.isArriving, !trip.isLate, trip.look.isUnderWay, !trip.look.isHeld else { return }
    trip.isArriving = true
    server.report(.looked(serial: trip.look.serial, .arriving))
  }

  /// Fails the look, unless it is held: then its next answer may come in time.
  private func late(_ trip: Trip) {
    trip.isLate = true
    if !trip.look.isHeld { answer(trip.look, .failed) }
    if let heardAt, server.loop.now - heardAt < server.settings.timeout { return }
    server.wasLate()
  }

  private func arrived(_ trip: Trip) {
    let look = trip.look
    trip.limit?.cancel()
    look.isAsking = false
    if trip.value == .lost { return answer(look, .failed) }
    if !trip.isLate { server.answered() }
    // Nobody wants it any more.
    guard look.isUnderWay else { return giveBack(trip) }
    if case .failure(let text) = trip.taken { server.said(text) }
    guard look.isUnderWay else { return }
    if let old = look.old { compare(trip, with: old) } else { judge(trip) }
    if look.isUnderWay, look.isWoken {
      look.isWoken = false
      poll(look)
    }
  }

  private func giveBack(_ trip: Trip) { if trip.isOurs { claims.giveBack(trip.look.claim) } }

  // MARK: What was found

  private func judge(_ trip: Trip) {
    let look = trip.look
    switch Sight(trip.value, under: look.digest, mostBytes: mostBytes, layout: server.settings.layout) {
    case .nothing where trip.taken == .nothing && !look.hasFoundDefect:
      // The key exists and its value is empty: nobody would ever replace it, as nobody fetches it.
      discard(look, .damaged, [])
    case .nothing, .claim: takeOrWait(trip)
    case .value(let value) where value.payload.count > server.settings.maxObject:
      giveBack(trip)
      answer(look, .foundForOthers)
    case .value(let value):
      giveBack(trip)
      let age = server.clock.age(of: value.storedAt, at: server.loop.now)
      answer(
        look,
        .found(
          FleetPicture(record: value.record, payload: value.payload, mark: value.mark, stamp: value.stamp, age: age)))
    case .beyondLimit, .newer:
      giveBack(trip)
      answer(look, .foundForOthers)
    case .defect(let defect, let front):
      giveBack(trip)
      discard(look, defect, front)
    case .refused(let text):
      giveBack(trip)
      answer(look, .failed)
      server.said(text)
    }
  }

  /// Takes the claim or waits for its holder: there is no picture, or one that has to be confirmed.
  private func takeOrWait(_ trip: Trip) {
    if trip.isOurs {
      claims.hold(trip.look.claim, for: trip.look.serial)
      answer(trip.look, .claimed)
    } else if trip.taken == .nothing {
      hold(trip.look)
    } else {
      answer(trip.look, .nothing)
    }
  }

  /// Looks up the picture that has replaced the old one; if none has, takes the claim or waits.
  private func compare(_ trip: Trip, with old: UInt64) {
    let look = trip.look
    guard let front = trip.value.bytes else {
      giveBack(trip)
      return answer(look, .nothing)
    }
    if FleetValue.isNewer(front.span, than: server.settings.layout) {
      if trip.isOurs { server.order(look.claim.withdrawal(in: server.keys)) }
      return answer(look, .foundForOthers)
    }
    if let head = FleetValue.Head(front.span), head.stamp != old {
      // It was not needed: the picture has arrived in the meantime, and nobody must be told that there will be none.
      if trip.isOurs { server.order(look.claim.withdrawal(in: server.keys)) }
      look.old = nil
      look.claims = false
      return ask(look)
    }
    // The holder of the claim has removed it.
    if front.isEmpty, !trip.isOurs { return answer(look, .nothing) }
    takeOrWait(trip)
  }

  /// Deletes a useless value, and looks once more.
  private func discard(_ look: PictureLook, _ defect: FleetDefect, _ front: [UInt8]) {
    server.report(.defect(serial: look.serial, defect))
    guard server.isWritable, !look.hasFoundDefect else { return answer(look, .nothing) }
    look.hasFoundDefect = true
    var command = FleetScript.discard.command(keys: [server.keys.picture(look.digest)])
    command.add(front)
    server.order(command)
    ask(look)
  }

  // MARK: Waiting

  private func hold(_ look: PictureLook) {
    if !look.isHeld {
      look.isHeld = true
      held[look.digest, default: []].insert(look.serial)
      look.end = server.loop.schedule(after: Self.patience) { [unowned self] in
        answer(look, .nothing)
        // A claim without an expiry is nobody's, and would be waited for again and again.
        if server.isWritable { server.order(look.claim.bounding(in: server.keys)) }
      }
      wakeUps.add(look.digest)
      server.report(.looked(serial: look.serial, .held))
    }
    let pause = Self.pauses[min(look.polls, Self.pauses.count - 1)]
    look.polls += 1
    look.nextPoll = server.loop.schedule(after: pause) { [unowned self] in poll(look) }
  }

  private func poll(_ look: PictureLook) {
    look.nextPoll?.cancel()
    if look.isAsking { look.isWoken = true } else { ask(look) }
  }

  /// Without a picture everyone fetches on their own; waiting in turn would take too long.
  private func wake(_ digest: KeyDigest, hasCome: Bool) {
    for serial in held[digest] ?? [] {
      guard let look = looks[serial] else { continue }
      if hasCome { poll(look) } else { answer(look, .nothing) }
    }
  }

  // MARK: The end

  private func answer(_ look: PictureLook, _ answer: FleetAnswer) {
    if forget(look) { server.report(.looked(serial: look.serial, answer)) }
  }

  /// Ends a look; false if it was over.
  @discardableResult private func forget(_ look: PictureLook) -> Bool {
    guard look.finish() else { return false }
    looks[look.serial] = nil
    guard look.isHeld else { return true }
    held[look.digest]?.remove(look.serial)
    if held[look.digest]?.isEmpty == true { held[look.digest] = nil }
    wakeUps.remove(look.digest)
    return true
  }
}

private final class Trip {
  let look: PictureLook
  let claims: Bool
  let askedAt: Instant
  /// When a part of its value arrived last; without one, when it was asked.
  var heardAt: Instant
  var limit: Timer?
  var isLate = false
  /// Whether it was told that its value arrives.
  var isArriving = false
  var value = RedisReply.lost
  /// The answer to the claim; nil if none was attempted.
  var taken: RedisReply?

  init(_ look: PictureLook, claims: Bool, at now: Instant) {
    self.look = look
    (askedAt, heardAt) = (now, now)
    self.claims = claims
  }

  var isOurs: Bool { taken?.isOK == true }
}

/// A look-up under way, or an attempt to claim a stored picture that has to be confirmed.
final class PictureLook {
  let serial: UInt64
  /// The claim that it attempts; only the server's answer says whether it has it.
  let claim: PictureClaim
  /// Whether it claims the picture, and waits if another host has done so.
  var claims: Bool
  /// The stamp of the picture that is to be replaced; nil if any picture will do.
  var old: UInt64?
  /// True until it is answered or given up.
  private(set) var isUnderWay = true
  var isHeld = false
  /// Whether a useless value has been found: after a second one, there is no further look.
  var hasFoundDefect = false
  var polls = 0
  var isAsking = false
  /// Whether it was woken in the meantime: that answer may be older.
  var isWoken = false
  var nextPoll: Timer?
  var end: Timer?

  init(serial: UInt64, _ claim: PictureClaim, claims: Bool, old: UInt64? = nil) {
    self.serial = serial
    self.claim = claim
    self.claims = claims
    self.old = old
  }

  var digest: KeyDigest { claim.digest }

  /// Ends it; false if it was over.
  func finish() -> Bool {
    defer { isUnderWay = false }
    nextPoll?.cancel()
    end?.cancel()
    return isUnderWay
  }
}

/// What the server has under a picture's key.
enum Sight {
  case nothing
  case claim
  case value(FleetValue)
  /// A picture that is larger than this host takes; others may take it.
  case beyondLimit
  /// A value of a later release: it stays.
  case newer
  /// A value that is of no use to anybody. `front` is its first bytes; empty if it is not a string.
  case defect(FleetDefect, front: [UInt8])
  /// The server's answer was an error, or made no sense; this says which.
  case refused(String)

  /// Classifies the reply to a `GETRANGE` of one byte more than the longest value.
  init(_ reply: RedisReply, under digest: KeyDigest, mostBytes: Int, layout: UInt8) {
    switch reply {
    case .bytes(let bytes): self = Self.sight(of: ArrivedValue(bytes), digest, mostBytes, layout)
    case .value(let value): self = Self.sight(of: value, digest, mostBytes, layout)
    case .failure(let text) where text.hasPrefix("WRONGTYPE"): self = .defect(.foreign, front: [])
    case .failure(let text): self = .refused(text)
    default: self = .refused("it has sent no string for a string")
    }
  }

  private static func sight(of value: ArrivedValue, _ digest: KeyDigest, _ mostBytes: Int, _ layout: UInt8) -> Sight {
    guard let first = value.front.first else { return .nothing }
    if first == PictureClaim.sign { return .claim }
    if FleetValue.isNewer(value.front.span, than: layout) { return .newer }
    let front = Array(value.front.prefix(FleetValue.headLength))
    guard value.count <= mostBytes else {
      // A value that was not read to its end may be sound, if its head says that it is longer.
      let most = mostBytes - FleetValue.mostBytes(picture: 0)
      let isSound = FleetValue.Head(front.span).map { most < $0.bodyCount && $0.bodyCount <= 512 << 20 } ?? false
      return isSound ? .beyondLimit : .defect(.tooLarge, front: front)
    }
    switch FleetValue.decode(value, under: digest) {
    case .success(let value): return .value(value)
    case .failure(.foreign): return .defect(.foreign, front: front)
    case .failure(.damaged): return .defect(.damaged, front: front)
    }
  }
}
