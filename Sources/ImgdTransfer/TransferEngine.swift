// Connecting, TLS and certificates take milliseconds, which must not delay requests for cached pictures: so all
// network access is on a thread with a loop of its own, and only values cross: orders go in, events come out. On that thread
//
//   TransferTable  holds the transfers by serial,
//   Transfer       carries out one order: hops, retries, the deadline,
//   FirstContact   lets the others to an origin wait for the first one's TLS handshake,
//   Exchange       is one request with its response,
//   NameResolver   finds the addresses of names, with the help of a few more threads,
//   PartialBodies  keeps bodies that broke off, to be continued,
//   CurlMulti      runs libcurl on the loop.
//
// They are not Sendable, so the compiler keeps them on that thread.

internal import CCurl
import Glibc
package import ImgdSystem
import Synchronization

/// Downloads URLs on the transfer thread; every call posts a message and returns at once.
package final class TransferEngine: Sendable {
  private let thread: LoopThread
  private let mailbox: Mailbox<TransferMessage>
  private let count: HoldingsCount

  /// curl is initialised once for the process, and never cleaned up.
  private static let isCurlReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Starts the thread; `report` is called on it, in order, and must not wait.
  package static func start(settings: TransferSettings, report: @escaping @Sendable (TransferEvent) -> Void)
    throws(SystemFailure) -> TransferEngine
  {
    try TransferEngine(settings: settings, lookUp: NameAnswer.fromSystem, report: report)
  }

  /// Starts an engine whose names are looked up by `lookUp`, on threads of its own.
  init(
    settings: TransferSettings, lookUp: @escaping @Sendable (String) -> NameAnswer,
    report: @escaping @Sendable (TransferEvent) -> Void
  ) throws(SystemFailure) {
    guard Self.isCurlReady else { throw SystemFailure("curl_global_init", errno: ENOMEM) }
    let count = HoldingsCount()
    self.count = count
    (thread, mailbox) = try LoopThread.start(name: "imgd-transfer") {
      (loop: EventLoop) throws(SystemFailure) -> Mailbox<TransferMessage> in
      let table = try TransferTable(
        loop: loop, settings: settings, names: NameResolver(loop: loop, count: count, lookUp: lookUp), count: count,
        report: report)
      return try loop.makeMailbox { message in table.receive(message) }
    }
  }

  /// Begins a transfer; all its events carry the order's serial.
  package func begin(_ order: TransferOrder) {
    count.begun.add(1)
    mailbox.post(.begin(order))
  }

  /// Changes the limits of a transfer, if it is still under way; the deadline counts from its beginning.
  package func adjust(serial: UInt64, maxBytes: Int, deadline: Duration) {
    mailbox.post(.adjust(serial: serial, maxBytes: maxBytes, deadline: deadline))
  }

  /// Ends a transfer without an event; events already on their way may still arrive.
  package func abort(serial: UInt64) { mailbox.post(.abort(serial: serial)) }

  /// Applies new settings to transfers that begin from now on.
  package func apply(_ settings: TransferSettings) { mailbox.post(.apply(settings)) }

  /// Frees the partial bodies that wait to be continued, at most 32 MB.
  package func dropPartials() { mailbox.post(.dropPartials) }

  /// Transfers under way; only the thread that begins them reads it.
  var load: Int { count.begun.value - count.ended.value }

  /// What the engine holds; reading it does not wait for the engine.
  package var holdings: TransferHoldings { count.all }

  /// Calls `answer` on the transfer thread, in a tick of its loop.
  package func askForLife(_ answer: @escaping @Sendable () -> Void) { mailbox.post(.askForLife(answer)) }

  /// Aborts everything, ends the thread and waits for its end. Not to be called from `report`.
  package func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

enum TransferMessage: Sendable {
  case begin(TransferOrder)
  case adjust(serial: UInt64, maxBytes: Int, deadline: Duration)
  case abort(serial: UInt64)
  case apply(TransferSettings)
  case dropPartials
  case askForLife(@Sendable () -> Void)
  case stop
}

/// The transfers under way, by serial, with the state that they share on the transfer thread.
final class TransferTable {
  /// A burst of transfers must not leave all its handles behind; all engines together keep so many.
  private static let mostIdleHandles = 16
  /// The memory that curl uses for one handle.
  private static let bytesOfHandle = 12 * 1024

  // The thread owns the loop, which owns the mailbox, which owns this table.
  unowned let loop: EventLoop
  let multi: CurlMulti
  let sessions = SessionShares()
  var contacts = FirstContacts()
  let names: NameResolver
  let report: (TransferEvent) -> Void
  let count: HoldingsCount
  var partials: PartialBodies { didSet { count.partials.set(partials.bytes) } }
  private var settings: TransferSettings
  private var transfers: [UInt64: Transfer] = [:]
  private var lastURL: TransferURL?
  private var idleHandles: [EasyHandle] = [] {
    didSet { count.idleHandles.set(idleHandles.count * Self.bytesOfHandle) }
  }

  init(
    loop: EventLoop, settings: TransferSettings, names: NameResolver, count: HoldingsCount,
    report: @escaping (TransferEvent) -> Void
  ) throws(SystemFailure) {
    self.loop = loop
    self.settings = settings
    self.names = names
    self.count = count
    self.report = report
    partials = PartialBodies(share: settings.engines)
    multi = try CurlMulti(loop: loop, count: count)
    apply(settings)
  }

  func receive(_ message: TransferMessage) {
    switch message {
    case .begin(let order):
      precondition(transfers[order.serial] == nil, "a serial names one transfer")
      let transfer = Transfer(order, settings: settings, table: self)
      transfers[order.serial] = transfer
      transfer.begin()
    case .adjust(let serial, let maxBytes, let deadline):
      transfers[serial]?.adjust(maxBytes: maxBytes, deadline: deadline)
    case .abort(let serial): remove(serial)?.close()
    case .apply(let settings): apply(settings)
    case .dropPartials: partials.removeAll()
    case .askForLife(let answer): answer()
    case .stop:
      for transfer in transfers.values { transfer.close() }
      transfers.removeAll()
      partials.removeAll()
      idleHandles.removeAll()
      names.close()
      multi.close()
      sessions.close()
      loop.stop()
    }
  }

  private func apply(_ settings: TransferSettings) {
    self.settings = settings
    // Those in use count as well: one engine may have all downloads that run.
    multi.keepConnections(settings.maxConnections / min(settings.engines, 2))
  }

  private func remove(_ serial: UInt64) -> Transfer? {
    guard let transfer = transfers.removeValue(forKey: serial) else { return nil }
    count.ended.add(1)
    return transfer
  }

  /// Removes a transfer and reports its outcome, as its last event.
  func ended(_ transfer: Transfer, _ outcome: TransferOutcome) {
    _ = remove(transfer.order.serial)
    report(.finished(serial: transfer.order.serial, outcome))
  }

  /// Reads the URL of an order. Most come one after the other from one origin.
  func url(_ text: String) throws(TransferFailure) -> TransferURL {
    let url = if let known = lastURL?.neighbour(text) { known } else { try TransferURL(text) }
    lastURL = url
    return url
  }

  // MARK: Handles

  func takeHandle(for settings: TransferSettings) throws(TransferFailure) -> EasyHandle {
    while let idle = idleHandles.popLast() { if idle.suits(settings) { return idle } }
    guard let handle = EasyHandle(settings) else { throw TransferFailure(.unavailable, "out of memory") }
    return handle
  }

  /// Keeps a handle for the next transfer; one that is not clean is freed, with all that it holds.
  func giveBack(_ handle: EasyHandle, isClean: Bool) {
    guard isClean, idleHandles.count < Self.mostIdleHandles / settings.engines else { return }
    handle.forgetExchange()
    idleHandles.append(handle)
  }
}

/// What the engine holds at the moment, for a count of the whole process's memory, and how it came by connections.
package struct TransferHoldings: Sendable, Equatable {
  /// Bytes of the bodies under way.
  package var bodies = 0
  /// Bytes of the bodies that broke off and wait to be continued.
  package var partials = 0
  /// Bytes of the handles that wait for a transfer, estimated.
  package var idleHandles = 0
  /// Open connections, those that wait for another request included.
  package var connections = 0
  /// Names that are being looked up, each on a thread.
  package var lookups = 0
  /// Requests over new connections so far, and over those that were open.
  package var opened = 0
  package var reused = 0
  /// TLS handshakes so far: full ones, and those that resumed a session.
  package var handshakes = 0
  package var resumed = 0

  /// Bytes of the TLS sessions that are kept, at most: those of one origin take each other's place.
  package var sessions = 0

  mutating func add(_ other: TransferHoldings) {
    bodies += other.bodies
    partials += other.partials
    idleHandles += other.idleHandles
    connections += other.connections
    lookups += other.lookups
    opened += other.opened
    reused += other.reused
    handshakes += other.handshakes
    resumed += other.resumed
    sessions += other.sessions
  }
}

/// The holdings, kept up to date by the transfer thread and read by any other without waiting. What has begun is counted
/// by the thread that gives the orders.
final class HoldingsCount: Sendable {
  /// One number, which one thread writes.
  struct Gauge: ~Copyable, Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }
    func set(_ value: Int) { number.store(value, ordering: .relaxed) }
    func add(_ difference: Int) { number.store(value + difference, ordering: .relaxed) }
  }

  let begun = Gauge()
  let ended = Gauge()
  let bodies = Gauge()
  let partials = Gauge()
  let idleHandles = Gauge()
  let connections = Gauge()
  let lookups = Gauge()
  private let opened = Gauge()
  private let reused = Gauge()
  private let handshakes = Gauge()
  private let resumed = Gauge()

  func countRequest(isConnected: Bool, _ handshake: Handshake?) {
    if isConnected { reused.add(1) } else { opened.add(1) }
    if let handshake { if handshake.isResumed { resumed.add(1) } else { handshakes.add(1) } }
  }

  var all: TransferHoldings {
    TransferHoldings(
      bodies: bodies.value, partials: partials.value, idleHandles: idleHandles.value, connections: connections.value,
      lookups: lookups.value, opened: opened.value, reused: reused.value, handshakes: handshakes.value,
      resumed: resumed.value,
      sessions: min(handshakes.value, SessionShares.mostSessions) * SessionShares.bytesOfSession)
  }
}
