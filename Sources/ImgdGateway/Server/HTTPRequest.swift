// A request goes through the library's hands four times: its target has come; its head has come whole; it is complete,
// and is handed out; its answer is sent. Between the last two it is suspended, unless it is answered at once. It is not
// suspended in the call that hands it out: the library would still regard the connection as one to read from, read from
// it first when it is resumed, and close it if the client has finished sending.

internal import CLinux
internal import CMicrohttpd
import Glibc
internal import ImgdSystem

// Safe: what is the library's is private, and not used once the request has ended.
/// A request that the library has received, as long as somebody is interested in it.
@safe final class HTTPRequest: HTTPExchange {
  private enum Phase { case target, head, handedOut, unanswered, waiting, resumed, answered, ended }

  private(set) var method = HTTPMethod.other
  private(set) var target = ""
  var peer: HTTPPeer { connection.peer }
  var onLeave: (() -> Void)?
  var onEnd: (() -> Void)?
  var notes = RequestNotes()

  // Valid until the request has ended; the library reports that.
  private let native: OpaquePointer
  private let connection: HTTPConnection
  private let rawTarget: UnsafePointer<CChar>
  private let targetLength: Int
  private var phase = Phase.target
  private var response: HTTPResponse?
  private var isHTTP10 = false
  /// When its head had come.
  private var began: Instant?
  /// The status of its answer, once that is being sent, and the bytes of the body.
  private var sent: (status: Int, bytes: Int)?
  /// The body of the answer that is being sent, if that comes bit by bit.
  private var stream: HTTPStream?
  private var hasLeft = false
  /// Whether it was answered at the end of the server's time, and not by who has it.
  private var isRefused = false
  private(set) var isSuspended = false
  /// How often its connection was suspended.
  private(set) var pause = 0

  init(_ native: OpaquePointer, on connection: HTTPConnection, target: UnsafePointer<CChar>) {
    unsafe self.native = native
    self.connection = connection
    unsafe rawTarget = target
    targetLength = unsafe strlen(target)
    unsafe self.target = String(validatingCString: target) ?? ""
  }

  func fields(_ name: String) -> [String] { phase == .ended ? [] : unsafe FieldSearch.values(of: name, in: native) }

  func answer(_ response: HTTPResponse) {
    guard [.handedOut, .unanswered, .waiting].contains(phase), !hasLeft, !isRefused else {
      precondition(hasLeft || isRefused || phase == .ended, "a request is answered once")
      response.stream?.finish()
      return
    }
    precondition(self.response == nil, "a request is answered once")
    self.response = response
    onLeave = nil
    if phase == .waiting { resume() }
  }

  // MARK: Calls from the library

  /// Called whenever there is a next step; returns whether the connection goes on.
  func proceed(_ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>) -> Bool {
    switch phase {
    case .target: return unsafe judge(method, version)
    case .head: return handOut()
    case .unanswered: return answerOrSuspend()
    case .resumed: return send()
    case .handedOut, .waiting, .answered, .ended: return false
    }
  }

  private func judge(_ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>) -> Bool {
    self.method = unsafe HTTPMethod(rawValue: String(cString: method)) ?? .other
    let reading = unsafe http_read_head(native, method, rawTarget, targetLength, version)
    isHTTP10 = unsafe strcmp(version, "HTTP/1.0") == 0
    began = connection.engine.loop.now
    let head = RequestHead(
      method: self.method, isHTTP10: isHTTP10, reading: reading,
      target: target.utf8.count == targetLength ? target : nil, host: fields("Host").first)
    phase = .head
    guard let refusal = head.refusal else {
      target = head.path ?? target
      return true
    }
    connection.engine.tally.malformed.add()
    let response = ErrorAnswer(refusal).response()
    countAnswer(response)
    phase = .answered
    return unsafe response.queue(on: native)
  }

  private func handOut() -> Bool {
    guard !connection.engine.isClosing || connection.engine.isLeaving else { return false }
    connection.headHasCome()
    phase = .handedOut
    connection.engine.tally.requests.add()
    connection.engine.onRequest(self)
    if response != nil { return send() }
    phase = .unanswered
    return true
  }

  /// The library asks once more for the answer, usually in the same tick.
  private func answerOrSuspend() -> Bool {
    if response != nil || hasLeft { return send() }
    phase = .waiting
    suspend()
    return true
  }

  private func send() -> Bool {
    phase = .answered
    guard !hasLeft, let response = response.take() else { return false }
    countAnswer(response)
    stream = response.stream
    stream?.begin(for: self)
    if connection.engine.isClosing { stream?.close() }
    if stream == nil { connection.answerBegins(response.bodyLength) }
    guard response.prepare() else { return false }
    if response.sendsFile { connection.holdBack() }
    return unsafe response.queue(on: native, isLast: connection.engine.isLeaving)
  }

  private func countAnswer(_ response: HTTPResponse) {
    connection.engine.tally.countAnswer(response.status)
    sent = (response.status, method == .head ? 0 : response.bodyLength)
    // How long it took until an answer that comes bit by bit has begun says nothing of pictures.
    guard let began, response.stream == nil else { return }
    connection.engine.tally.countTime(connection.engine.loop.moment - began, isHeld: notes.source == .held)
  }

  /// The request is over, and the library is about to forget it; `isComplete` says that all of the answer was sent.
  func libraryEnds(isComplete: Bool) {
    let isMalformed = phase == .target
    if phase == .waiting || phase == .unanswered { leave() }
    log(isComplete: isComplete)
    phase = .ended
    connection.holdBackNoMore()
    if isMalformed { connection.engine.tally.malformed.add() }
    stream?.finish()
    stream = nil
    connection.requestHasEnded()
    onEnd.take()?()
  }

  private func log(isComplete: Bool) {
    guard let log = connection.engine.log, let began, sent != nil || hasLeft else { return }
    let status = sent?.status ?? AccessEntry.clientLeft
    guard log.wants(status) else { return }
    if notes.trace == nil { notes.trace = TraceContext(fields("traceparent"))?.child() }
    let sentBytes = stream.map { $0.sent } ?? (isComplete ? sent?.bytes : nil)
    log.append(
      AccessEntry(
        time: WallClock.nanoseconds, notes: notes, method: method.rawValue, target: target, isHTTP10: isHTTP10,
        status: status, bytes: sentBytes, duration: connection.engine.loop.moment - began,
        referer: fields("Referer").first, agent: fields("User-Agent").first))
  }

  /// The server closes: a request that is not handed out is given up, and a stream is closed, since it would never end
  /// on its own.
  func serverCloses() {
    if phase == .target || phase == .head { connection.endUnasked() } else { stream?.close() }
  }

  /// Answers a request for which there is no time left.
  func refuse() {
    guard phase == .waiting || phase == .unanswered, response == nil, !hasLeft else { return }
    let giveUp = onLeave
    answer(
      ErrorAnswer(GatewayError(503, "shutting_down", "the gateway stops", isRetryable: true)).response(
        adding: [("Retry-After", "1")]))
    isRefused = true
    giveUp?()
  }

  func resumeStream() { if isSuspended { resume() } }

  func cutOff() {
    connection.shutDown()
    resumeStream()
  }

  // MARK: Suspending

  /// Called from the library's call for the answer, or for more of its body.
  func suspend() {
    isSuspended = true
    pause += 1
    unsafe MHD_suspend_connection(native)
    connection.engine.departures.expect(self)
  }

  private func resume() {
    connection.watchNoMore()
    isSuspended = false
    if phase == .waiting { phase = .resumed }
    unsafe MHD_resume_connection(native)
    connection.engine.runSoon()
  }

  /// Has its client watched from here on, since the answer takes its time.
  func watchForDeparture() { connection.watchForDeparture { [weak self] in self?.abandon() } }

  /// Gives the request up: there is nobody left to answer.
  func abandon() {
    stream?.cutOff()
    guard isSuspended || phase == .unanswered else { return }
    leave()
    if isSuspended { resume() }
  }

  private func leave() {
    guard !hasLeft, stream == nil else { return }
    hasLeft = true
    connection.engine.tally.left.add()
    onLeave.take()?()
  }
}

/// The kinds of request that the gateway knows.
package enum HTTPMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case options = "OPTIONS"
  case other
}

/// The other end of a connection.
package enum HTTPPeer: Equatable, Sendable {
  /// By its word in `TrustedProxies=`.
  package enum Kind: String, CaseIterable, Sendable { case unix, loopback, network }

  /// Programs of this machine.
  case unix, loopback
  case network(AddressKey)

  /// Asks the kernel only where clients of other machines may connect; one that has gone already counts as such.
  init(of socket: CInt, at place: Kind) {
    switch place {
    case .unix: self = .unix
    case .loopback: self = .loopback
    case .network:
      // Longer than any address in text.
      var text = [CChar](repeating: 0, count: 64)
      switch unsafe linux_remote_address(socket, &text, text.count) {
      case 0: self = .loopback
      case 1: self = .network(AddressKey(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)))
      default: self = .network(.unknown)
      }
    }
  }

  var kind: Kind {
    switch self {
    case .unix: .unix
    case .loopback: .loopback
    case .network: .network
    }
  }
}

/// An HTTP request, and the place for its answer.
package protocol HTTPExchange: AnyObject {
  var method: HTTPMethod { get }
  /// The target as it was sent, with its query, not decoded.
  var target: String { get }
  var peer: HTTPPeer { get }
  /// Called once if the client goes before it has its answer.
  var onLeave: (() -> Void)? { get set }
  /// Called once when the request is over: its answer is sent, or its connection gone.
  var onEnd: (() -> Void)? { get set }
  var notes: RequestNotes { get set }

  /// The values of a header field, in the order in which they were sent; the name in any case.
  func fields(_ name: String) -> [String]

  /// Answers the request; may be called once.
  func answer(_ response: HTTPResponse)
}
