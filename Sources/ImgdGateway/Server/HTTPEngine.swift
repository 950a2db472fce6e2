internal import CMicrohttpd
import Glibc
internal import ImgdSystem

// Safe: the library's handle is private, and gone once the library is ended.
/// The library with its connections, run by a loop.
///
/// The library has a descriptor that is readable when one of its sockets is ready. It tells how soon it must be run
/// again: at once, when a connection is half way through an answer.
@safe final class HTTPEngine {
  /// The most rounds of one tick: what is left waits for the next one.
  private static let mostRounds = 8
  /// The most runs for clients of whom none came.
  private static let mostFruitless = 8

  let loop: EventLoop
  let limits: HTTPLimits
  private let place: HTTPPlace
  let departures: DepartureWatch
  var onRequest: (any HTTPExchange) -> Void = { _ in }
  var onClose: () -> Void = {}
  let tally: HTTPTally
  let log: AccessLog?
  var isAlone: Bool { connections.isEmpty }
  private(set) var isClosing = false
  /// Whether each answer is the last of its connection.
  var isLeaving = false

  private var daemon: OpaquePointer?
  /// Its turn to accept, as long as it listens.
  private var seat: Int?
  private var watch: Watch?
  /// How often in a row the library was called for a client without accepting one.
  private var fruitless = 0
  private var deadline: MovingDeadline?
  private var connections: [CInt: HTTPConnection] = [:]
  private var isRunning = false
  private var isDue = false
  private var hasResumed = false

  init(on loop: EventLoop, at place: HTTPPlace, limits: HTTPLimits, _ tally: HTTPTally, log: AccessLog?)
    throws(SystemFailure)
  {
    self.loop = loop
    self.log = log
    self.tally = tally
    self.limits = limits
    self.place = place
    departures = DepartureWatch(on: loop)
    // The library sends files by a call whose signal cannot be suppressed in any other way.
    signal(SIGPIPE, SIG_IGN)
    var callbacks = unsafe http_callbacks()
    // This object ends the library before it is freed itself.
    unsafe callbacks.context = Unmanaged.passUnretained(self).toOpaque()
    unsafe callbacks.on_request = requestProceeds
    unsafe callbacks.on_connection = connectionChanges
    unsafe callbacks.on_target = targetHasCome
    unsafe callbacks.on_completed = requestIsComplete
    let seconds = UInt32(clamping: max(1, limits.idleTimeout.components.seconds))
    let most = UInt32(clamping: limits.connections)
    guard let daemon = unsafe http_start(&callbacks, place.number, most, seconds) else {
      throw SystemFailure("MHD_start_daemon", errno: errno)
    }
    unsafe self.daemon = daemon
    seat = place.join(UInt64(UInt(bitPattern: daemon)), epoll: unsafe http_epoll(daemon))
    deadline = MovingDeadline(on: loop) { [weak self] in self?.runLibrary() }
    do throws(SystemFailure) {
      watch = try loop.watch(unsafe http_epoll(daemon), for: .read) { [weak self] _ in self?.runForSockets() }
    } catch {
      stop()
      throw error
    }
  }

  // MARK: Connections

  /// The connection is kept by its context until it ends.
  fileprivate func begin(_ native: OpaquePointer) -> HTTPConnection {
    let socket = unsafe http_socket(native)
    let connection = HTTPConnection(of: self, socket: socket, peer: HTTPPeer(of: socket, at: place.peers))
    connections[connection.socket] = connection
    tally.accepted.add()
    if let seat { place.countConnections(1, at: seat) }
    return connection
  }

  fileprivate func forget(_ connection: HTTPConnection) {
    connection.libraryCloses()
    connections[connection.socket] = nil
    tally.closed.add()
    if let seat { place.countConnections(-1, at: seat) }
    // If it listens no more because it had all that it may have, it looks at that when it is run.
    runSoon()
    onClose()
  }

  // MARK: Running

  /// Runs the library at the end of this tick, for requests that go on.
  func runSoon() {
    hasResumed = true
    guard !isRunning, !isDue else { return }
    isDue = true
    loop.atTickEnd { [weak self] in self?.runLibrary() }
  }

  /// Runs the library because one of its sockets is ready. Without any connection that is the one that it listens on: a
  /// client whom it cannot accept, for want of descriptors or memory, stays there and would keep the loop busy.
  private func runForSockets() {
    let (before, wasAlone) = (tally.accepted.count, isAlone)
    runLibrary()
    fruitless = wasAlone && tally.accepted.count == before ? fruitless + 1 : 0
    guard fruitless >= Self.mostFruitless else { return }
    watch?.interest = []
    loop.schedule(after: .milliseconds(100)) { [weak self] in self?.watch?.interest = .read }
  }

  private func runLibrary() {
    guard let daemon = unsafe daemon, !isRunning else { return }
    isRunning = true
    isDue = false
    var rounds = 0
    var patience: Duration?
    repeat {
      hasResumed = false
      _ = unsafe MHD_run(daemon)
      patience = unsafe Self.patience(of: daemon)
      rounds += 1
    } while (hasResumed || patience == .zero) && rounds < Self.mostRounds
    isRunning = false
    if hasResumed || patience == .zero { return loop.nextTick { [weak self] in self?.runLibrary() } }
    if let patience { deadline?.set(after: patience) } else { deadline?.clear() }
  }

  /// How long the library may be left alone; nil for ever.
  private static func patience(of daemon: OpaquePointer) -> Duration? {
    var milliseconds: UInt64 = 0
    guard unsafe MHD_get_timeout(daemon, &milliseconds) == .YES else { return nil }
    return .milliseconds(Int64(clamping: milliseconds))
  }

  // MARK: Ending

  /// Accepts no more, closes the connections that have no request handed out, ends streams, and closes every other
  /// connection after its answer. Where clients cannot simply connect again, those who wait in the kernel's queue are
  /// the last to be accepted: with the socket, their connections would be reset.
  func beginClosing() {
    isClosing = true
    stopListening()
    if isLeaving, let daemon = unsafe daemon {
      unsafe http_accept_waiting(daemon, place.number)
      runSoon()
    }
    for connection in connections.values { connection.serverCloses() }
  }

  private func stopListening() {
    guard let daemon = unsafe daemon, let seat = seat.take() else { return }
    place.leave(seat)
    unsafe http_stop_listening(daemon)
  }

  /// Answers those who still wait: there will be no picture.
  func refuseRest() { for connection in connections.values { connection.request?.refuse() } }

  /// Ends everything at once. The library must have nothing suspended when it is stopped.
  func stop() {
    guard let daemon = unsafe daemon else { return }
    isClosing = true
    // Or the library would close the socket.
    stopListening()
    for connection in connections.values { connection.request?.abandon() }
    runLibrary()
    departures.forgetAll()
    unsafe self.daemon = nil
    watch?.cancel()
    deadline = nil
    unsafe MHD_stop_daemon(daemon)
  }
}

// MARK: Calls from the library, whose context is the engine

private func engine(_ context: UnsafeMutableRawPointer?) -> HTTPEngine? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<HTTPEngine>.fromOpaque(context).takeUnretainedValue()
}

private func connectionChanges(
  _ context: UnsafeMutableRawPointer?, _ native: OpaquePointer?,
  _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
  guard let engine = unsafe engine(context), let native = unsafe native, let place = unsafe place else { return }
  if change == .CONNECTION_NOTIFY_STARTED {
    unsafe place.pointee = Unmanaged.passRetained(engine.begin(native)).toOpaque()
  } else if let kept = unsafe place.pointee {
    unsafe place.pointee = nil
    unsafe engine.forget(Unmanaged<HTTPConnection>.fromOpaque(kept).takeRetainedValue())
  }
}

/// The result is the context of the request, and is kept until the request is complete.
private func targetHasCome(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ native: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let target = unsafe target, let native = unsafe native, let kept = unsafe http_connection_context(native) else {
    return nil
  }
  let connection = unsafe Unmanaged<HTTPConnection>.fromOpaque(kept).takeUnretainedValue()
  let request = unsafe HTTPRequest(native, on: connection, target: target)
  connection.request = request
  unsafe http_skip_parameters(target)
  unsafe http_judge_lengths_later(native)
  return unsafe Unmanaged.passRetained(request).toOpaque()
}

private func requestProceeds(
  _ context: UnsafeMutableRawPointer?, _ native: OpaquePointer?, _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ body: UnsafePointer<CChar>?,
  _ bodyLength: UnsafeMutablePointer<Int>?, _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let kept = unsafe place?.pointee, let method = unsafe method, let version = unsafe version else { return .NO }
  let request = unsafe Unmanaged<HTTPRequest>.fromOpaque(kept).takeUnretainedValue()
  return unsafe request.proceed(method, version) ? .YES : .NO
}

private func requestIsComplete(
  _ context: UnsafeMutableRawPointer?, _ native: OpaquePointer?,
  _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let place = unsafe place, let kept = unsafe place.pointee else { return }
  unsafe place.pointee = nil
  unsafe Unmanaged<HTTPRequest>.fromOpaque(kept).takeRetainedValue().libraryEnds(
    isComplete: reason == .REQUEST_TERMINATED_COMPLETED_OK)
}
