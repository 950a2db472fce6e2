// One request and its response. An exchange configures a curl handle and receives curl's callbacks: it keeps the
// head, the body, and the reason if it stopped curl. It decides nothing about redirects, retries or kinds of failure;
// `ExchangeReview` and the transfer do that when the exchange is over.
//
// curl must not be called from its own callbacks. So a callback records facts, reports progress, and at most tells
// curl to stop; only the transfer adds and removes handles, later.

internal import CCurl
import Glibc
internal import ImgdSystem

final class Exchange {
  enum Stop {
    /// The head already says that the body is too long.
    case announcedTooLong(Int)
    case grewTooLong
    /// An unused body was longer than is worth reading to keep the connection.
    case skippedEnough
    case refusedAddress
    /// There is no connection to the host, and its name has to be looked up.
    case needsAddress
    case noRoom(SystemFailure)
    case idle
    case doesNotFit
    case badHead(HeadCollector.Problem)

    /// Whether the body received so far cannot be used.
    fileprivate var isAboutBody: Bool {
      switch self {
      case .announcedTooLong, .grewTooLong, .noRoom, .doesNotFit, .badHead: true
      case .skippedEnough, .refusedAddress, .needsAddress, .idle: false
      }
    }
  }

  /// How much of an unused body is read so that the connection can be kept.
  private static let mostSkipped = 64 * 1024
  private static let mostKeptHead = 4 * 1024

  let request: ExchangeRequest
  let easy: EasyHandle
  var maxBytes: Int
  private unowned let transfer: Transfer
  private let loop: EventLoop

  private(set) var head = HeadCollector()
  private let begunAt: Instant
  private var firstByteAfter: Duration?
  private(set) var stop: Stop?
  /// The bytes of the body so far, those of earlier exchanges included.
  private(set) var received = 0
  private(set) var resumedFrom = 0
  private(set) var expected: Int?
  private(set) var addresses: AddressFilter
  /// The body to continue, until the origin has answered with a body.
  private(set) var partial: PartialBody?
  private var rangeEnd: Int?
  private var body = PayloadWriter()
  private var skipped = 0
  /// The beginning of a body in which a service says why it has refused a signed request.
  private(set) var refusal: [UInt8] = []
  private var lastActivity: Instant
  private var idleTimer: Timer?
  private var hasShakenHands = false
  /// The sockets that it has opened, until there is a connection.
  var attempts: [CInt] = []
  /// Until the end of a time in which the body is held back.
  private var holding: Timer?
  /// The bytes of the body that are paid for and have not been accepted yet.
  private var paid = 0
  let phase: PhaseCell

  init(
    _ request: ExchangeRequest, on easy: EasyHandle, for transfer: Transfer, maxBytes: Int,
    resuming partial: PartialBody?, loop: EventLoop
  ) {
    self.request = request
    self.partial = partial
    self.easy = easy
    self.transfer = transfer
    phase = transfer.order.phase
    self.maxBytes = maxBytes
    self.loop = loop
    begunAt = loop.now
    lastActivity = begunAt
    addresses = AddressFilter(
      rule: request.settings.addressRule, afterPublic: request.afterPublic, isProxied: request.proxy != nil)
    configure()
  }

  /// Whether curl's handle may serve another exchange. Until then it keeps the lines of this one's head
  /// and trailers, and the part of a line whose end has not arrived.
  var leavesHandleClean: Bool { head.bytes <= Self.mostKeptHead && (head.isComplete || phase.phase < .firstByte) }

  /// The head of the answer, as the transfer reports it.
  var answerHead: ResponseHead {
    var answer = head.head
    answer.firstByteAfter = firstByteAfter
    return answer
  }

  /// The body, once; the exchange is empty afterwards.
  func takeBody() throws(SystemFailure) -> Payload { try body.finish() }

  /// The body that the next exchange can continue, once: the one that broke off here or, if no body
  /// arrived, the one that this exchange was to continue.
  func takePartial() -> PartialBody? {
    guard stop?.isAboutBody != true else { return nil }
    guard head.isComplete else { return partial }
    guard head.isSuccess else { return TransferFailure.isTransient(status: head.status) ? partial : nil }
    guard received > 0, received < expected ?? .max, let begun = PartialBody(of: head, total: expected) else {
      return nil
    }
    swap(&begun.bytes, &body)
    return begun
  }

  func close() {
    idleTimer?.cancel()
    holding?.cancel()
  }

  /// Tells the transfer that curl has finished the exchange; not to be called from a callback.
  func ended(_ code: CURLcode) { transfer.exchangeEnded(code) }

  // MARK: Callbacks from curl

  /// Makes curl stop, as the answer of a callback.
  private func refuse(_ reason: Stop) -> Bool {
    stop = reason
    return false
  }

  func takeHeadLine(_ line: Span<UInt8>) -> Bool {
    lastActivity = loop.now
    firstByteAfter = firstByteAfter ?? lastActivity - begunAt
    let isEnd = head.add(line)
    if let problem = head.problem { return refuse(.badHead(problem)) }
    guard isEnd else { return true }
    phase.enter(.body)
    transfer.noteContact()
    if head.status == 206, let partial { return resume(partial) }
    return !head.isSuccess || start()
  }

  private func start() -> Bool {
    let announced = easy.expectedLength
    if let announced, announced > maxBytes { return refuse(.announcedTooLong(announced)) }
    partial = nil
    let coding = head.first("content-encoding")?.lowercased() ?? "identity"
    expected = request.decodes && coding != "identity" ? nil : announced
    if let expected { body.expect(expected) }
    transfer.headArrived(expected: expected, at: 0)
    return true
  }

  private func resume(_ partial: PartialBody) -> Bool {
    guard let range = partial.range(addedBy: head, length: easy.expectedLength) else { return refuse(.doesNotFit) }
    guard range.total <= maxBytes else { return refuse(.announcedTooLong(range.total)) }
    head = head.continuing(partial.head, total: range.total)
    swap(&body, &partial.bytes)
    self.partial = nil
    received = range.first
    resumedFrom = range.first
    rangeEnd = range.last + 1
    expected = range.total
    transfer.headArrived(expected: expected, at: received)
    return true
  }

  /// What becomes of a part of a body.
  enum Acceptance { case accepted, heldBack, refused }

  func takeBodyPart(_ part: UnsafeRawBufferPointer) -> Acceptance {
    lastActivity = loop.now
    if let throttle = request.throttle, mustWait(for: part.count, by: throttle) { return .heldBack }
    return unsafe append(part) ? .accepted : .refused
  }

  private func append(_ part: UnsafeRawBufferPointer) -> Bool {
    guard head.isSuccess else { return unsafe skip(part) }
    if let rangeEnd, part.count > rangeEnd - received { return refuse(.doesNotFit) }
    guard part.count <= maxBytes - received else { return refuse(.grewTooLong) }
    do throws(SystemFailure) { try unsafe body.append(part) } catch { return refuse(.noRoom(error)) }
    received += part.count
    transfer.bodyGrew(to: received, expected: expected)
    return true
  }

  /// Whether a part has to wait: then curl keeps it, and hands it over again when it is let go, in other parts perhaps.
  private func mustWait(for bytes: Int, by throttle: Throttle) -> Bool {
    if bytes > paid {
      let pause = throttle.pay(for: bytes - paid, at: loop.now)
      paid = bytes
      if pause > .zero {
        holding = loop.schedule(after: pause) { [unowned self] in letGo() }
        return true
      }
    }
    paid -= bytes
    return false
  }

  private func letGo() {
    holding = nil
    lastActivity = loop.now
    if !easy.resume() { ended(CURLE_WRITE_ERROR) }
  }

  private func skip(_ part: UnsafeRawBufferPointer) -> Bool {
    if request.signature != nil { unsafe refusal += part.prefix(ServiceRefusal.mostBytes - refusal.count) }
    skipped += part.count
    return skipped <= Self.mostSkipped || refuse(.skippedEnough)
  }

  /// Whether curl may find the address: it does not have to wait for one that is written in the URL.
  func addressIsWanted() -> Bool { request.target.name == nil || refuse(.needsAddress) }

  func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> CInt? {
    phase.enter(.connect)
    let description = unsafe address.pointee
    let target = unsafe UnsafeRawPointer(address).advanced(by: MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    let opened = addresses.open(
      unsafe IPAddress(target.assumingMemoryBound(to: sockaddr.self)), family: description.family,
      type: description.socktype, protocol: description.protocol)
    if let opened { transfer.socketOpened(opened, by: self) }
    return opened
  }

  func handshakeBegins() {
    phase.enter(.tls)
    hasShakenHands = true
  }

  /// Called when the connection is ready; the request is sent next, unless the address is refused.
  func requestIsDue(at address: String) -> Bool {
    guard addresses.mayRequest(from: IPAddress(address)) else { return refuse(.refusedAddress) }
    phase.enter(.firstByte)
    transfer.requestBegins(isConnected: addresses.opened == 0, handshake: hasShakenHands ? easy.handshake : nil)
    lastActivity = loop.now
    watchForIdleness(after: request.settings.idleTimeout)
    return true
  }

  /// Called when a session is looked up for a handshake, and just before one is added that came after it.
  func sessionIsUsed() {
    if phase.phase >= .firstByte { transfer.noteContact() }
  }

  // MARK: Idleness

  /// One timer that checks when it fires whether anything has arrived meanwhile: restarting it for
  /// every part of a body would cost more than the part.
  private func watchForIdleness(after delay: Duration) {
    idleTimer?.cancel()
    idleTimer = loop.schedule(after: delay) { [unowned self] in checkIdleness() }
  }

  private func checkIdleness() {
    if holding != nil { lastActivity = loop.now }
    let rest = lastActivity + request.settings.idleTimeout - loop.now
    guard rest <= .zero else { return watchForIdleness(after: rest) }
    stop = .idle
    ended(CURLE_OPERATION_TIMEDOUT)
  }
}
