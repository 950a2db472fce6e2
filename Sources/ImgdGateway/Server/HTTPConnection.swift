import Glibc
internal import ImgdSystem

/// A client's connection; the library owns its socket.
final class HTTPConnection {
  /// In bytes a second: an answer has the time that it takes at this pace, in addition to the time allowed for silence.
  private static let slowestReader = 4_096

  let engine: HTTPEngine
  let socket: CInt
  let peer: HTTPPeer
  /// The request that is being read or answered.
  private(set) var request: HTTPRequest?
  private var departure: Watch?
  private var holdsBack = false
  private var deadline: MovingDeadline?

  init(of engine: HTTPEngine, socket: CInt, peer: HTTPPeer) {
    self.engine = engine
    self.socket = socket
    self.peer = peer
    deadline = MovingDeadline(on: engine.loop) { [weak self] in self?.shutDown() }
    deadline?.set(after: engine.limits.headTimeout)
  }

  func begin(_ request: HTTPRequest) { self.request = request }

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
    guard peer == .loopback else { return }
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
  func serverCloses() { if let request { request.serverCloses() } else { shutDown() } }

  /// Has the library close the connection.
  func shutDown() { shutdown(socket, CInt(SHUT_RDWR)) }

  /// Watches a socket that the library does not look at. Requests may still arrive there, and stay.
  ///
  /// Over TCP there is no way to tell whether a client that sends no more still reads; today's clients do not go on
  /// after that. Over a Unix socket there is one.
  func watchForDeparture(_ onLeave: @escaping () -> Void) {
    let interest: Interest = peer == .unix ? [] : Readiness.read.union(.edge)
    departure = try? engine.loop.watch(socket, for: interest) { readiness in
      if !readiness.intersection(Readiness.hangup.union(.halfClosed)).isEmpty { onLeave() }
    }
  }

  func watchNoMore() {
    departure?.cancel()
    departure = nil
  }
}
