// curl's crowd of transfers, turned by our loop.
//
// curl says through two callbacks which sockets it wants to hear of and when it wants to be woken;
// they become watches and one timer. Everything else happens when the loop comes by: a socket is
// ready, the timer is due, a handle was added. Finished transfers are collected at the end of the
// tick and never in a callback, because collecting removes handles, and curl is not re-entrant.
//
// A socket may be closed before curl says that it has lost interest, and its number may come back
// at once as another socket. So our close callback ends the watch first, and a watch that is left
// over is replaced, never modified, when its number is reported as new.

internal import CCurl
import Glibc
internal import ImgdSystem

@safe final class CurlMulti {
  // Valid from init until `close`, which is the end of the thread.
  private let multi: UnsafeMutableRawPointer
  private unowned let loop: EventLoop
  private var watches: [CInt: Watch] = [:]
  private var timer: Timer?
  private var isCollectionDue = false
  private var isKickDue = false

  init(loop: EventLoop) throws(SystemFailure) {
    guard let multi = unsafe curl_multi_init() else {
      throw SystemFailure("curl_multi_init", errno: ENOMEM)
    }
    unsafe self.multi = unsafe multi
    self.loop = loop
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe curl_multi_on_socket(multi, socketInterestChanged, context)
    unsafe curl_multi_on_timer(multi, timerChanged, context)
  }

  /// Ends all connections; no handle may be left.
  func close() {
    unsafe curl_multi_cleanup(multi)
    timer?.cancel()
    for watch in watches.values { watch.cancel() }
    watches.removeAll()
  }

  /// How many connections are kept when nobody uses them.
  func keepConnections(_ count: Int) {
    unsafe curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(count, 1))
  }

  func add(_ exchange: Exchange) {
    unsafe curl_easy_set_context(
      exchange.easy.pointer, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
    unsafe curl_easy_on_close(exchange.easy.pointer, socketIsClosing)
    unsafe curl_multi_add_handle(multi, exchange.easy.pointer)
    kickSoon()
  }

  /// Takes the handle back; one that is under way loses its connection.
  func remove(_ exchange: Exchange) {
    unsafe curl_multi_remove_handle(multi, exchange.easy.pointer)
  }

  // MARK: Turning

  /// curl begins what was added when it is called; one call does for all that came in this tick.
  private func kickSoon() {
    guard !isKickDue else { return }
    isKickDue = true
    loop.atTickEnd { [unowned self] in
      isKickDue = false
      turn(CURL_SOCKET_TIMEOUT, 0)
    }
  }

  private func turn(_ socket: CInt, _ events: CInt) {
    var running: CInt = 0
    unsafe curl_multi_socket_action(multi, socket, events, &running)
    guard !isCollectionDue else { return }
    isCollectionDue = true
    loop.atTickEnd { [unowned self] in collectFinished() }
  }

  private func collectFinished() {
    isCollectionDue = false
    var code = CURLE_OK
    while let easy = unsafe curl_multi_next_finished(multi, &code) {
      guard let context = unsafe curl_easy_private(easy) else { continue }
      unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue().ended(code)
    }
  }

  // MARK: What curl wants

  fileprivate func setInterest(_ interest: Interest?, in socket: CInt, isNew: Bool) {
    guard let interest else { return forget(socket) }
    if !isNew, let watch = watches[socket] { return watch.interest = interest }
    forget(socket)
    // Any mark will do: it says that curl has told us of this socket.
    unsafe curl_multi_assign(multi, socket, Unmanaged.passUnretained(self).toOpaque())
    watches[socket] = try? loop.watch(socket, for: interest) { [unowned self] readiness in
      turn(socket, readiness.curlEvents)
    }
  }

  fileprivate func forget(_ socket: CInt) {
    watches.removeValue(forKey: socket)?.cancel()
  }

  /// At least a millisecond: while a name is being resolved curl would have us spin.
  fileprivate func wake(afterMilliseconds delay: Int) {
    timer?.cancel()
    timer = nil
    guard delay >= 0 else { return }
    timer = loop.schedule(after: .milliseconds(max(delay, 1))) { [unowned self] in
      turn(CURL_SOCKET_TIMEOUT, 0)
    }
  }
}

extension Readiness {
  fileprivate var curlEvents: CInt {
    var events: CInt = 0
    if contains(.read) || contains(.halfClosed) { events |= CURL_CSELECT_IN }
    if contains(.write) { events |= CURL_CSELECT_OUT }
    if contains(.hangup) { events |= CURL_CSELECT_ERR }
    return events
  }
}

extension Interest {
  fileprivate init?(curlPoll what: CInt) {
    switch what {
    case CURL_POLL_IN: self = .read
    case CURL_POLL_OUT: self = .write
    case CURL_POLL_INOUT: self = [.read, .write]
    default: return nil
    }
  }
}

// MARK: curl's callbacks

private func multi(_ context: UnsafeMutableRawPointer?) -> CurlMulti? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
}

/// `mark` is what was assigned to the socket: nothing for one that curl reports the first time.
private func socketInterestChanged(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt,
  _ context: UnsafeMutableRawPointer?, _ mark: UnsafeMutableRawPointer?
) -> CInt {
  unsafe multi(context)?.setInterest(Interest(curlPoll: what), in: socket, isNew: mark == nil)
  return 0
}

private func timerChanged(
  _ handle: UnsafeMutableRawPointer?, _ delay: Int, _ context: UnsafeMutableRawPointer?
) -> CInt {
  unsafe multi(context)?.wake(afterMilliseconds: delay)
  return 0
}

private func socketIsClosing(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  unsafe multi(context)?.forget(socket)
  return Glibc.close(socket)
}
