import Glibc
internal import ImgdSystem

/// A client's connection; the library owns its socket.
final class HTTPConnection {
  /// In bytes a second: an answer has the time that it takes at this pace, in addition to the time allowed for silence.
  private static let slowestReader = 4_096
  private static let patience = Duration.seconds(5)
  private static let lastMoment = Duration.milliseconds(500)

  let engine: HTTPEngine
  let socket: CInt
  let peer: HTTPPeer
  /// The request that is being read or answered.
  var request: HTTPRequest?
  private var departure: Watch?
  /// Runs for a client that may have gone.
  private var patience: Timer?
  private var holdsBack = false
  private var deadline: MovingDeadline?

  init(of engine: HTTPEngine, socket: CInt, peer: HTTPPeer) {
    self.engine = engine
    self.socket = socket
    self.peer = peer
    deadline = MovingDeadline(on: engine.loop) { [weak self] in self?.shutDown() }
    deadline?.set(after: engine.limits.headTimeout)
  }

  func headHasCome() { deadline?.clear() }

  /// Sets a deadline: the library would wait for ever for a client that makes a little room now and then.
  func answerBegins(_ length: Int) {
    deadline?.set(after: engine.limits.idleTimeout + .seconds(length / Self.slowestReader))
  }

  func requestHasEnded() {
    watchNoMore()
    request = nil
    if engine.isClosing { return shutDown() }
    deadline?.set(after: engine.limits.idleTimeout + engine.limits.headTimeout)
  }

  /// The library is about to close the socket.
  func libraryCloses() {
    watchNoMore()
    deadline = nil
  }

  /// Has the kernel send the head of an answer together with the file that follows it: the library sends
  /// each by a call of its own, and at once.
  func holdBack() {
    guard peer != .unix else { return }
    holdsBack = true
    cork(1)
  }

  func holdBackNoMore() {
    guard holdsBack else { return }
    holdsBack = false
    cork(0)
  }

  private func cork(_ value: CInt) {
    var value = value
    _ = unsafe setsockopt(socket, CInt(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// The server closes: a request under way may be finished.
  func serverCloses() { if let request { request.serverCloses() } else { endUnasked() } }

  /// Closes a connection that has no whole request. Where clients cannot simply connect again, the request may be on its
  /// way, and has a moment to arrive.
  func endUnasked() { if engine.isLeaving { deadline?.set(after: Self.lastMoment) } else { shutDown() } }

  /// Has the library close the connection.
  func shutDown() { shutdown(socket, CInt(SHUT_RDWR)) }

  /// Watches a socket that the library does not look at. Requests may still arrive there, and stay.
  ///
  /// Over a Unix socket the kernel tells a client that has gone from one that only sends no more. Over TCP both look
  /// alike until something is sent to them, so there a client that sends no more keeps its request for a while.
  func watchForDeparture(_ onLeave: @escaping () -> Void) {
    let interest: Interest = peer == .unix ? [] : Readiness.read.union(.edge)
    departure = try? engine.loop.watch(socket, for: interest) { [unowned self] readiness in
      if !readiness.intersection(.hangup).isEmpty { return onLeave() }
      guard readiness.contains(.halfClosed), patience == nil else { return }
      patience = engine.loop.schedule(after: Self.patience, onLeave)
    }
  }

  func watchNoMore() {
    departure.take()?.cancel()
    patience.take()?.cancel()
  }
}

/// Finds the requests that have waited for a moment, so that it is worthwhile to watch their clients. Most answers
/// come sooner, and save the two system calls that a watch takes.
final class DepartureWatch {
  private static let moment = Duration.milliseconds(20)

  private struct Expected {
    let request: HTTPRequest
    let pause: Int
    let due: Instant
  }

  private let loop: EventLoop
  private var expected = Fifo<Expected>()
  private lazy var deadline = MovingDeadline(on: loop) { [weak self] in self?.look() }

  init(on loop: EventLoop) { self.loop = loop }

  func expect(_ request: HTTPRequest) {
    if expected.isEmpty { deadline.set(after: Self.moment) }
    expected.append(Expected(request: request, pause: request.pause, due: loop.now + Self.moment))
  }

  /// Releases all requests: they hold the connections, which hold this object.
  func forgetAll() {
    expected = Fifo()
    deadline.clear()
  }

  private func look() {
    while let first = expected.first, first.due <= loop.now {
      _ = expected.popFirst()
      let request = first.request
      if request.isSuspended, request.pause == first.pause { request.watchForDeparture() }
    }
    if let next = expected.first { deadline.set(after: next.due - loop.now) }
  }
}

/// A deadline that moves with every request, on a timer that is set anew only when it has fired.
final class MovingDeadline {
  private let loop: EventLoop
  private let action: () -> Void
  private var due: Instant?
  private var timer: Timer?

  init(on loop: EventLoop, _ action: @escaping () -> Void) {
    self.loop = loop
    self.action = action
  }

  deinit { timer?.cancel() }

  func set(after delay: Duration) {
    let due = loop.now + delay
    self.due = due
    guard let timer else { return arm(after: delay) }
    guard due < timer.deadline else { return }
    timer.cancel()
    arm(after: delay)
  }

  /// Removes the deadline until the next one is set.
  func clear() { due = nil }

  private func arm(after delay: Duration) { timer = loop.schedule(after: delay) { [weak self] in self?.fire() } }

  private func fire() {
    timer = nil
    guard let due else { return }
    if due > loop.now { return arm(after: due - loop.now) }
    self.due = nil
    action()
  }
}
