internal import ImgdConnection
package import ImgdSystem
import ImgdWire
import Synchronization

/// An HTTP server for programs of this machine, on a loop of its owner.
package final class HTTPServer {
  /// How long the last answers have to be sent.
  private static let lastWord = Duration.milliseconds(250)

  private let loop: EventLoop
  private let engine: HTTPEngine
  private var closing: Timer?
  private var onClosed: (() -> Void)?

  /// Serves until it is closed; each request is handed out once its head is sound and complete.
  package init(
    on loop: EventLoop, at place: HTTPPlace, limits: HTTPLimits, tally: HTTPTally = HTTPTally(), log: AccessLog? = nil,
    onRequest: @escaping (any HTTPExchange) -> Void
  ) throws(SystemFailure) {
    self.loop = loop
    engine = try HTTPEngine(on: loop, at: place, limits: limits, tally, log: log)
    engine.onRequest = onRequest
    // Not from within the library's call.
    engine.onClose = { [weak self] in loop.atTickEnd { self?.finishIfAlone() } }
  }

  deinit {
    closing?.cancel()
    engine.onClose = {}
    engine.stop()
  }

  package var counters: HTTPCounters { engine.tally.counters }

  /// Serves on, and closes each connection with its next answer, which says so.
  package func leave() { engine.isLeaving = true }

  /// Accepts no more connections, and calls `done` when the answers under way are sent, or after a while even if they
  /// are not.
  package func close(_ done: @escaping () -> Void = {}) {
    guard onClosed == nil, !engine.isClosing else { return }
    onClosed = done
    engine.beginClosing()
    closing = loop.schedule(after: engine.limits.closingTimeout) { [weak self] in self?.refuseRest() }
    finishIfAlone()
  }

  private func refuseRest() {
    engine.refuseRest()
    closing = loop.schedule(after: Self.lastWord) { [weak self] in self?.finish() }
  }

  private func finishIfAlone() { if engine.isClosing, engine.isAlone { finish() } }

  private func finish() {
    closing.take()?.cancel()
    engine.stop()
    onClosed.take()?()
  }
}

/// The place where a server's clients connect.
package enum HTTPListener {
  case unix(UnixListener)
  case port(PortListener)

  /// Makes a socket at a path, for its owner and its group.
  package init(path: String) throws(ListenProblem) { self = .unix(try UnixListener(path: path)) }

  /// Binds an address: one of 127.0.0.0/8 or `::1`, unless other machines may connect; port 0 for a free one.
  package init(address: String, port: Int, mayBeExposed: Bool = false) throws(ListenProblem) {
    self = .port(try PortListener(address: address, port: port, mayBeExposed: mayBeExposed))
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt, mayBeExposed: Bool = false) throws(ListenProblem) {
    do throws(ListenProblem) { self = .unix(try UnixListener(adopting: number)) } catch .notListening {
      self = .port(try PortListener(adopting: number, mayBeExposed: mayBeExposed))
    }
  }

  /// For all servers of its clients together.
  package func makePlace() throws(SystemFailure) -> HTTPPlace { try HTTPPlace(at: socket.number, peers: peers) }

  private var peers: HTTPPeer.Kind {
    switch self {
    case .unix: .unix
    case .port(let listener): listener.isExposed ? .network : .loopback
    }
  }

  /// Whether other machines can connect.
  var isExposed: Bool { peers == .network }

  /// The port of an address; nil for a Unix socket.
  package var port: Int? {
    guard case .port(let listener) = self else { return nil }
    return listener.port
  }

  var socket: ListeningSocket {
    switch self {
    case .unix(let listener): listener.socket
    case .port(let listener): listener.socket
    }
  }

  /// Lets nobody connect any more; to be called when the servers have been told to close.
  package func close() {
    switch self {
    case .unix(let listener): listener.close()
    case .port(let listener): listener.close()
    }
  }
}

/// What a server puts up with from its clients.
package struct HTTPLimits {
  /// Connections at one time; further ones wait in the kernel's queue.
  package var connections = 1_024
  /// The time from a connection until its first request has come whole, however slowly it comes. Later
  /// requests have this much in addition to `idleTimeout`.
  package var headTimeout = Duration.seconds(30)
  /// The time without a byte in either direction, in whole seconds.
  package var idleTimeout = Duration.seconds(30)
  /// The time that answers under way have after `close`.
  package var closingTimeout = Duration.seconds(5)

  package init() {}
}

/// A number that one thread counts, and that any may read.
final class Tally: Sendable {
  private let value = Atomic(0)

  var count: Int { value.load(ordering: .relaxed) }

  /// To be called on the thread that counts: of two additions at a time one would be lost.
  func add(_ amount: Int = 1) { value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed) }
}

/// How long answers took: counts that one thread makes, in the buckets of the protocol.
final class LatencyTally: Sendable {
  /// The last one is for what exceeds all bounds.
  private let buckets = (0...LatencyBounds.nanoseconds.count).map { _ in Tally() }
  private let nanoseconds = Tally()

  /// To be called on the thread that counts.
  func record(_ time: Duration) {
    buckets[LatencyBounds.index(of: time.nanoseconds) ?? LatencyBounds.nanoseconds.count].add()
    nanoseconds.add(Int(time.nanoseconds))
  }

  var counts: LatencyCounts { LatencyCounts(buckets: buckets.map(\.count), nanoseconds: nanoseconds.count) }
}

/// How long answers took, as it was at a moment.
package struct LatencyCounts: Equatable {
  /// How many took at most as long as each bound, and longer than the one before; the last exceed all.
  var buckets = [Int](repeating: 0, count: LatencyBounds.nanoseconds.count + 1)
  var nanoseconds = 0

  static func + (one: Self, other: Self) -> Self {
    Self(buckets: zip(one.buckets, other.buckets).map { $0 + $1 }, nanoseconds: one.nanoseconds + other.nanoseconds)
  }

  func sample(of kind: String) -> LatencySample {
    let within = buckets.indices.map { buckets[...$0].reduce(0, +) }
    return LatencySample(
      labels: [("kind", kind)], within: Array(within.dropLast()), count: within.last ?? 0,
      seconds: Double(nanoseconds) / 1e9)
  }
}

/// What a server has done since it was started.
package final class HTTPTally: Sendable {
  let accepted = Tally()
  let closed = Tally()
  let requests = Tally()
  let malformed = Tally()
  let left = Tally()
  let answers = (1...5).map { _ in Tally() }
  private let held = LatencyTally()
  private let other = LatencyTally()

  package init() {}

  func countAnswer(_ status: Int) {
    let index = status / 100 - 1
    if answers.indices.contains(index) { answers[index].add() }
  }

  func countTime(_ time: Duration, isHeld: Bool) { (isHeld ? held : other).record(time) }

  package var counters: HTTPCounters {
    let closed = closed.count
    return HTTPCounters(
      connections: accepted.count - closed, accepted: accepted.count, requests: requests.count,
      malformed: malformed.count, left: left.count, answers: answers.map(\.count), held: held.counts,
      other: other.counts)
  }
}

/// What servers have done, as it was at a moment.
package struct HTTPCounters: Equatable {
  /// Connections that are open now.
  package var connections = 0
  package var accepted = 0
  /// Requests whose head was sound.
  package var requests = 0
  /// Requests whose head was not sound, or did not come whole.
  package var malformed = 0
  /// Clients that left before they had their answer.
  package var left = 0
  /// Answers by the first digit of their status, from 1 to 5.
  package var answers = [Int](repeating: 0, count: 5)
  /// How long answers took from pictures that are held, and all others.
  package var held = LatencyCounts()
  package var other = LatencyCounts()

  static func + (one: Self, other: Self) -> Self {
    Self(
      connections: one.connections + other.connections, accepted: one.accepted + other.accepted,
      requests: one.requests + other.requests, malformed: one.malformed + other.malformed, left: one.left + other.left,
      answers: zip(one.answers, other.answers).map { $0 + $1 }, held: one.held + other.held,
      other: one.other + other.other)
  }
}
