// libcurl's multi interface, driven by the transfer loop. Through two callbacks curl names the sockets that it waits
// for and the time at which it is to be called; they become watches and one timer. Everything else happens on the
// loop: a socket is ready, the timer is due, a handle was added. Finished transfers are collected at the end of the
// tick and never in a callback, because collecting removes handles, and curl is not re-entrant.
//
// A socket may be closed before curl reports that it is no longer interested, and its number reused at once. So the
// close callback ends the watch first, and a remaining watch is replaced, never modified, for a new socket.

internal import CCurl
import Glibc
internal import ImgdSystem

@safe final class CurlMulti {
  // Valid from init until `close`, just before the thread ends.
  private let multi: UnsafeMutableRawPointer
  private unowned let loop: EventLoop
  private let count: HoldingsCount
  private var watches: [CInt: Watch] = [:]
  /// The exchanges that have opened sockets, until there is a connection: curl closes what it makes no use of without a
  /// word.
  private var attempts: [CInt: Exchange] = [:]
  private var timer: Timer?
  private var isCollectionDue = false
  private var isStartDue = false

  init(loop: EventLoop, count: HoldingsCount) throws(SystemFailure) {
    guard let multi = unsafe curl_multi_init() else { throw SystemFailure("curl_multi_init", errno: ENOMEM) }
    unsafe self.multi = unsafe multi
    self.loop = loop
    self.count = count
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe curl_multi_on_socket(multi, socketInterestChanged, context)
    unsafe curl_multi_on_timer(multi, timerChanged, context)
  }

  /// Closes all connections; every handle must have been removed.
  func close() {
    unsafe curl_multi_cleanup(multi)
    timer?.cancel()
    for watch in watches.values { watch.cancel() }
    watches.removeAll()
  }

  /// Keeps at most so many connections open, those in use among them.
  func keepConnections(_ count: Int) { unsafe curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(count, 1)) }

  func add(_ exchange: Exchange) {
    exchange.easy.set(CURLOPT_CLOSESOCKETDATA, context: self)
    unsafe curl_multi_add_handle(multi, exchange.easy.pointer)
    // curl starts added handles when it is called; one call suffices for all handles of a tick.
    guard !isStartDue else { return }
    isStartDue = true
    loop.atTickEnd { [unowned self] in
      isStartDue = false
      call(CURL_SOCKET_TIMEOUT, 0)
    }
  }

  /// Removes the handle; an unfinished one loses its connection.
  func remove(_ exchange: Exchange) {
    unsafe curl_multi_remove_handle(multi, exchange.easy.pointer)
    endAttempts(of: exchange) { _ in true }
  }

  // MARK: Counting connections

  func noteOpened(_ socket: CInt, by exchange: Exchange) {
    count.connections.add(1)
    attempts[socket] = exchange
    exchange.attempts.append(socket)
  }

  /// One of its sockets is a connection now, of whose end curl tells; the others are closed.
  func noteConnected(_ exchange: Exchange) { endAttempts(of: exchange) { fcntl($0, F_GETFD) < 0 } }

  private func endAttempts(of exchange: Exchange, _ isClosed: (CInt) -> Bool) {
    for socket in exchange.attempts where attempts[socket] === exchange {
      attempts[socket] = nil
      if isClosed(socket) { count.connections.add(-1) }
    }
    exchange.attempts = []
  }

  // MARK: Calling curl

  private func call(_ socket: CInt, _ events: CInt) {
    // Registered before curl's callbacks register for the end of the tick: when theirs run, the
    // transfers that have finished are collected already.
    if !isCollectionDue {
      isCollectionDue = true
      loop.atTickEnd { [unowned self] in collectFinished() }
    }
    var running: CInt = 0
    unsafe curl_multi_socket_action(multi, socket, events, &running)
  }

  private func collectFinished() {
    isCollectionDue = false
    var code = CURLE_OK
    while let easy = unsafe curl_multi_next_finished(multi, &code) {
      guard let context = unsafe curl_easy_private(easy) else { continue }
      unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue().ended(code)
    }
  }

  // MARK: Requests from curl

  fileprivate func setInterest(_ what: CInt, in socket: CInt, isNew: Bool) {
    let interest: Interest
    switch what {
    case CURL_POLL_IN: interest = .read
    case CURL_POLL_OUT: interest = .write
    case CURL_POLL_INOUT: interest = [.read, .write]
    default: return forget(socket)
    }
    if !isNew, let watch = watches[socket] { return watch.interest = interest }
    forget(socket)
    // Any pointer: it only marks the socket as known.
    unsafe curl_multi_assign(multi, socket, Unmanaged.passUnretained(self).toOpaque())
    watches[socket] = try? loop.watch(socket, for: interest) { [unowned self] readiness in
      call(socket, readiness.curlEvents)
    }
  }

  fileprivate func socketCloses(_ socket: CInt) {
    count.connections.add(-1)
    attempts[socket] = nil
    forget(socket)
  }

  private func forget(_ socket: CInt) { watches.removeValue(forKey: socket)?.cancel() }

  /// Waits at least a millisecond: while curl resolves a name it asks for 0, and the loop would spin.
  fileprivate func wake(afterMilliseconds delay: Int) {
    timer?.cancel()
    timer = nil
    guard delay >= 0 else { return }
    timer = loop.schedule(after: .milliseconds(max(delay, 1))) { [unowned self] in call(CURL_SOCKET_TIMEOUT, 0) }
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

// MARK: curl's callbacks

func object<Object: AnyObject>(_ context: UnsafeMutableRawPointer?, _ type: Object.Type) -> Object? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<Object>.fromOpaque(context).takeUnretainedValue()
}

/// `mark` is nil for a socket that curl reports for the first time.
private func socketInterestChanged(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt, _ context: UnsafeMutableRawPointer?,
  _ mark: UnsafeMutableRawPointer?
) -> CInt {
  unsafe object(context, CurlMulti.self)?.setInterest(what, in: socket, isNew: mark == nil)
  return 0
}

private func timerChanged(_ handle: UnsafeMutableRawPointer?, _ delay: Int, _ context: UnsafeMutableRawPointer?) -> CInt
{
  unsafe object(context, CurlMulti.self)?.wake(afterMilliseconds: delay)
  return 0
}

func socketIsClosing(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  unsafe object(context, CurlMulti.self)?.socketCloses(socket)
  return Glibc.close(socket)
}

/// A handle of curl's, for one exchange after the other. Options that are the same for all are set once.
@safe final class EasyHandle {
  // Valid from init to deinit; curl's own state is only used on the transfer thread.
  let pointer: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  /// The header lines of an exchange that has none of its own.
  private let usualLines: UnsafeMutablePointer<curl_slist>?
  private var lists: [(option: CURLoption, list: UnsafeMutablePointer<curl_slist>)] = unsafe []
  /// Empty for none.
  private var proxy = ""
  private let caFile: String
  private let ownLines: [String]

  init?(_ settings: TransferSettings) {
    guard let pointer = unsafe curl_easy_init() else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errors.pointee = 0
    caFile = settings.caFile
    ownLines = settings.ownFields.lines
    unsafe usualLines = Self.list(of: ownLines)
    unsafe curl_easy_set_errors(pointer, errors)
    unsafe curl_easy_set_list(pointer, CURLOPT_HTTPHEADER, usualLines)
    configure(caFile: caFile)
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    while let (_, list) = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
    unsafe curl_slist_free_all(usualLines)
    unsafe errors.deallocate()
  }

  /// Whether it was made with the settings that hold for an exchange.
  func suits(_ settings: TransferSettings) -> Bool {
    settings.caFile == caFile && settings.ownFields.lines == ownLines
  }

  func set(_ option: CURLoption, _ value: Int) { unsafe curl_easy_set_long(pointer, option, value) }

  /// nil clears an option that has a default.
  func set(_ option: CURLoption, _ value: String?) { unsafe curl_easy_set_string(pointer, option, value) }

  func set(_ option: CURLoption, context object: AnyObject) {
    unsafe curl_easy_set_context(pointer, option, Unmanaged.passUnretained(object).toOpaque())
  }

  /// Sets the proxy of the next exchange, which is mostly that of the last one.
  func use(proxy: String?) {
    let proxy = proxy ?? ""
    guard proxy != self.proxy else { return }
    self.proxy = proxy
    set(CURLOPT_PROXY, proxy)
  }

  /// Goes on with a body that was held back; false if something has stopped it.
  func resume() -> Bool { unsafe curl_easy_pause(pointer, CURLPAUSE_CONT) == CURLE_OK }

  /// Sets lines for one exchange; none leaves the option as it is.
  func set(_ option: CURLoption, lines: [String]) {
    guard let list = unsafe Self.list(of: lines) else { return }
    unsafe lists.append((option, list))
    unsafe curl_easy_set_list(pointer, option, list)
  }

  private static func list(of lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { unsafe list = unsafe curl_slist_append(list, line) }
    return unsafe list
  }

  /// Forgets what was about one exchange, before the next: its lines, and curl's complaint.
  func forgetExchange() {
    while let (option, list) = unsafe lists.popLast() {
      unsafe curl_easy_set_list(pointer, option, option == CURLOPT_HTTPHEADER ? usualLines : nil)
      unsafe curl_slist_free_all(list)
    }
    unsafe errors.pointee = 0
  }

  /// curl's own description of its error; may be empty. It may quote the origin, such as its
  /// certificate, so characters that are not printable are replaced.
  var complaint: String {
    unsafe String(cString: errors).utf8.reduce(into: "") { text, byte in
      text.unicodeScalars.append((0x20...0x7e).contains(byte) ? UnicodeScalar(byte) : "?")
    }
  }

  /// What the handshake of the connection was, once it is over.
  var handshake: Handshake {
    unsafe Handshake(isResumed: curl_easy_is_resumed(pointer), awaitsSession: curl_easy_awaits_session(pointer))
  }

  var expectedLength: Int? {
    let length = unsafe curl_easy_expected_length(pointer)
    return length >= 0 ? Int(length) : nil
  }
}

/// A handshake of TLS that has succeeded.
struct Handshake {
  /// Whether it took up an earlier session, which costs a fraction of a full one.
  let isResumed: Bool
  /// Whether other connections can resume its session only when that has arrived.
  let awaitsSession: Bool
}
