// The purges of this host on their way into the log.
//
//   waiting ──► under way ──sent──► in the log ──heard──► over
//      ▲            │
//      └──unsent────┘
//
// The client that asked for a purge waits until it is in the log, but no longer than a timeout: then the purge gets a
// row in the index file, so that it outlives the process, and is sent when the server is back. A purge that is in the
// log stays here until it is heard from there: only then are the purges that came before it known.
//
// A server may be lost with the last purges that it has taken, or in favour of another one that has never had them. So
// the last purges of this host are remembered beyond that. In another life of the data those that are not in the log
// are sent again.

import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem

/// What became of a purge that other hosts carry out, too.
enum FleetSending: String {
  case sent
  /// It will be sent as soon as that is possible.
  case pending
}

final class FleetOutbox {
  /// How many purges and bytes are held; beyond that they become one purge of everything.
  static let most = 10_000
  static let mostBytes = 4 << 20
  private static let mostUnderWay = 16
  /// How many purges are remembered that are in the log, and how many bytes of them.
  static let mostLogged = 1_000
  private static let mostLoggedBytes = 1 << 20
  /// The pause after the server has refused a purge without ending the connection.
  private static let pause = Duration.seconds(1)

  private final class Item {
    let purge: FleetPurge
    let serial: UInt64
    /// It is in the log, but has not been heard from there yet.
    var isSent = false
    /// It has a row, or will have one soon.
    var isKept = false
    var then: ((FleetSending) -> Void)?
    var timeout: Timer?

    init(_ purge: FleetPurge, serial: UInt64, then: ((FleetSending) -> Void)?) {
      self.purge = purge
      self.serial = serial
      self.then = then
    }

    func tell(_ sending: FleetSending) {
      timeout.take()?.cancel()
      then.take()?(sending)
    }
  }

  private let fleet: any Fleet
  private let history: PurgeHistory
  private let disk: DiskTier
  private let loop: EventLoop
  var timeout: Duration
  private var isUp = false
  private var items: [UInt64: Item] = [:]
  private var waitingBytes = 0
  private var serial: UInt64 = 0
  /// What is still to be sent: first the purges that were under way before, in the order of their numbers.
  private var again: [Item] = []
  private var line = Fifo<Item>()
  private var underWay: Set<UInt64> = []
  private var retry: Timer?
  private var waitingForLog = 0
  /// The last purges that were heard from the log.
  private var logged = Fifo<FleetPurge>()
  private var loggedBytes = 0
  /// Whether there were others before these.
  private var hasForgotten = false
  private(set) var sent = 0
  /// Why the last one was refused, if none has been taken since.
  private(set) var refusal: String?

  init(_ fleet: any Fleet, history: PurgeHistory, disk: DiskTier, loop: EventLoop, timeout: Duration) {
    self.fleet = fleet
    self.history = history
    self.disk = disk
    self.loop = loop
    self.timeout = timeout
  }

  /// The memory that it takes, roughly.
  var heldBytes: Int { waitingBytes + loggedBytes }

  /// How many are still to be sent.
  var count: Int { items.count - waitingForLog }

  /// Sends a purge that is in force here; `then` is told within the timeout, but not before a row is durable.
  func send(_ purge: FleetPurge, then: @escaping (FleetSending) -> Void) {
    let item = add(purge, then: then)
    guard !limit() else { return }
    if isUp {
      item.timeout = loop.schedule(after: timeout) { [unowned self, unowned item] in keep(item) }
      pump()
    } else {
      keep(item)
    }
  }

  /// Takes over what an earlier process did not send.
  func adopt(_ notes: FleetNotes) {
    for purge in notes.purges where items[purge.nonce] == nil {
      history.addOwn(purge)
      add(purge, then: nil).isKept = true
    }
    // An earlier process may have sent others.
    if notes.position != nil { hasForgotten = true }
    if notes.damaged > 0 {
      Log.warning(
        .purge, .purgesUnreadable,
        "\(notes.damaged) purges for the fleet cannot be read any more: everything is marked stale on all hosts")
      let purge = FleetPurge.ofEverything(isSoft: true)
      history.addOwn(purge)
      disk.keepFleetPurges(inPlaceOfAll: rows + [purge]) { _ in }
      add(purge, then: nil).isKept = true
    }
    _ = limit()
    pump()
  }

  /// All purges that should have a row.
  var rows: [FleetPurge] { items.values.filter(\.isKept).sorted { $0.serial < $1.serial }.map(\.purge) }

  @discardableResult private func add(_ purge: FleetPurge, then: ((FleetSending) -> Void)?) -> Item {
    let item = hold(purge, then: then)
    line.append(item)
    return item
  }

  private func hold(_ purge: FleetPurge, then: ((FleetSending) -> Void)? = nil) -> Item {
    serial += 1
    let item = Item(purge, serial: serial, then: then)
    items[purge.nonce] = item
    waitingBytes += purge.filter.roughBytes
    return item
  }

  /// Has a purge written down before its client is told that it is pending.
  private func keep(_ item: Item) {
    guard !item.isKept, !item.isSent else { return }
    item.isKept = true
    // Without a disk it is held in memory alone.
    disk.keepFleetPurge(item.purge) { _ in item.tell(.pending) }
  }

  /// Replaces the purges by one of everything if there are too many; returns whether it did.
  private func limit() -> Bool {
    guard items.count > Self.most || waitingBytes > Self.mostBytes else { return false }
    let all = items.values.sorted { $0.serial < $1.serial }
    let purge = FleetPurge.ofEverything(isSoft: all.allSatisfy(\.purge.isSoft))
    Log.warning(.purge, .purgesMerged, "\(all.count) purges wait for the fleet's server: they become one of everything")
    history.addOwn(purge)
    for item in all { history.settleOwn(item.purge.nonce) }
    (items, waitingBytes, waitingForLog) = ([:], 0, 0)
    (again, line, underWay) = ([], Fifo(), [])
    add(purge, then: nil).isKept = true
    disk.keepFleetPurges(inPlaceOfAll: [purge]) { _ in for item in all { item.tell(.pending) } }
    pump()
    return true
  }

  func follow(_ state: FleetState) {
    let wasUp = isUp
    isUp = state.phase == .ok
    if !isUp { for nonce in underWay { putBack(nonce) } }
    // The log has been read to its end: what was in it, and is not, has gone with the server that took it.
    if isUp, !wasUp { sendUnheardAgain() } else { pump() }
  }

  private func pump() {
    while isUp, retry == nil, underWay.count < Self.mostUnderWay, let item = next() {
      underWay.insert(item.purge.nonce)
      fleet.send(item.purge)
    }
  }

  /// The next purge to send; those that have got into the log in the meantime are skipped.
  private func next() -> Item? {
    while let item = again.isEmpty ? line.popFirst() : again.removeFirst() {
      if !item.isSent, items[item.purge.nonce] === item { return item }
    }
    return nil
  }

  private func putBack(_ nonce: UInt64) {
    guard underWay.remove(nonce) != nil, let item = items[nonce] else { return }
    again.append(item)
    again.sort { $0.serial < $1.serial }
    keep(item)
  }

  func wasRefused(_ nonce: UInt64, _ reason: String) {
    guard underWay.contains(nonce) else { return }
    putBack(nonce)
    if refusal == nil { Log.warning(.fleet, .purgesWaiting, "purges of this host wait: \(reason)") }
    refusal = reason
    guard isUp, retry == nil else { return }
    retry = loop.schedule(after: Self.pause) { [unowned self] in
      retry = nil
      pump()
    }
  }

  /// Notes that a purge is in the log.
  func wasSent(_ nonce: UInt64) {
    underWay.remove(nonce)
    refusal = nil
    guard let item = items[nonce], !item.isSent else { return pump() }
    item.isSent = true
    waitingForLog += 1
    sent += 1
    if item.isKept {
      item.isKept = false
      disk.dropFleetPurge(nonce)
    }
    item.tell(.sent)
    pump()
  }

  /// Notes that a purge was heard from the log; returns whether it is one of these.
  func wasHeard(_ nonce: UInt64) -> Bool {
    guard items[nonce] != nil else { return false }
    // It may be heard before the server has answered.
    wasSent(nonce)
    guard let item = items.removeValue(forKey: nonce) else { return false }
    waitingForLog -= 1
    waitingBytes -= item.purge.filter.roughBytes
    history.settleOwn(nonce)
    remember(item.purge)
    return true
  }

  private func remember(_ purge: FleetPurge) {
    logged.append(purge)
    loggedBytes += purge.filter.roughBytes
    while logged.count > Self.mostLogged || loggedBytes > Self.mostLoggedBytes, let oldest = logged.popFirst() {
      loggedBytes -= oldest.filter.roughBytes
      hasForgotten = true
    }
  }

  /// Another life of the data is about to be read: what was in the log may have gone with the one before. It counts as
  /// unheard until it is heard again, or sent again at the end of the log. In place of what nobody remembers, everything
  /// is marked stale on all hosts: what the others have fetched meanwhile may be older than such a purge.
  func doubtLog() {
    while let purge = logged.popFirst() {
      guard items[purge.nonce] == nil else { continue }
      history.addOwn(purge)
      hold(purge).isSent = true
      waitingForLog += 1
    }
    loggedBytes = 0
    guard hasForgotten else { return }
    hasForgotten = false
    let purge = FleetPurge.ofEverything(isSoft: true)
    history.addOwn(purge)
    keep(add(purge, then: nil))
  }

  /// Sends the purges again that were not heard from the log: it is no longer the one that they were sent to.
  func sendUnheardAgain() {
    let unheard = items.values.filter(\.isSent).sorted { $0.serial < $1.serial }
    for item in unheard {
      item.isSent = false
      waitingForLog -= 1
      keep(item)
      line.append(item)
    }
    pump()
  }
}

extension FleetPurge {
  fileprivate static func ofEverything(isSoft: Bool) -> FleetPurge {
    FleetPurge(PurgeFilter(), isSoft: isSoft, askedAt: WallClock.seconds, nonce: .random(in: 1 ... .max))
  }
}
