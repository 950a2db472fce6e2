// One request and its response.
//
// An exchange sets a handle up, is what curl's callbacks find behind their pointer, and keeps what
// they bring: the head, the body, and why it was stopped, if it was. It decides nothing about
// redirects, retries or kinds of failure; its transfer does that when the exchange is over.
//
// Inside a callback curl must not be entered again. So a callback notes something, hands on news,
// and at most tells curl to stop; handles are added and removed by the transfer alone, later.

internal import CCurl
import Glibc
internal import ImgdSystem

final class Exchange {
  /// Why the exchange did not go on to its end.
  enum Stop {
    /// The head already says that the body is too long.
    case announcedTooLong(Int)
    case grewTooLong
    /// A body that nobody wants was longer than what is worth reading to keep the connection.
    case skippedEnough
    case refusedAddress
    case noRoom(SystemFailure)
    case idle
    /// What came as the rest of the body is not that.
    case doesNotFit
  }

  /// The part of a body that is read for nothing, so that the connection can be used again.
  private static let mostSkipped = 64 * 1024

  let request: Request
  let easy: EasyHandle
  /// The most bytes that the body may have.
  var maxBytes: Int
  private unowned let transfer: Transfer
  private let loop: EventLoop

  private(set) var head = HeadCollector()
  private(set) var stop: Stop?
  /// The bytes of the body that are there, those of earlier exchanges included.
  private(set) var received = 0
  /// How many of them were there before.
  private(set) var resumedFrom = 0
  private(set) var expected: Int?
  private(set) var gate: AddressGate
  /// What is to be continued, until the origin has answered with a body.
  private(set) var partial: PartialBody?
  /// Where the part ends that the origin has said to send.
  private var rangeEnd: Int?
  private var body = PayloadWriter()
  private var skipped = 0
  private var lastSign: Instant
  private var idleTimer: Timer?

  init(
    _ request: Request, on easy: EasyHandle, for transfer: Transfer, maxBytes: Int,
    resuming partial: PartialBody?, loop: EventLoop
  ) {
    self.request = request
    self.partial = partial
    self.easy = easy
    self.transfer = transfer
    self.maxBytes = maxBytes
    self.loop = loop
    lastSign = loop.now
    gate = AddressGate(
      rule: request.settings.addressRule, afterPublic: request.afterPublic,
      isProxied: request.settings.proxy != nil)
    configure()
  }

  /// The body, once; the exchange is empty afterwards.
  func takeBody() throws(SystemFailure) -> Payload { try body.finish() }

  /// What the next exchange can continue, once: the body that broke off, or what this one was to
  /// continue itself when it did not get so far.
  func takePartial() -> PartialBody? {
    guard stop?.isAboutBody != true else { return nil }
    guard head.isComplete else { return partial }
    guard isWanted else { return TransferFailure.isTransient(status: head.status) ? partial : nil }
    guard received > 0, received < expected ?? .max,
      let begun = PartialBody(of: head, total: expected)
    else { return nil }
    swap(&begun.bytes, &body)
    return begun
  }

  /// Ends the waiting; the handle is no longer in use.
  func close() {
    idleTimer?.cancel()
  }

  /// curl is done with it; not to be called from a callback.
  func ended(_ code: CURLcode) {
    transfer.exchangeEnded(code)
  }

  /// Whether the body is what was asked for: redirects and errors carry bodies too.
  var isWanted: Bool { (200..<300).contains(head.status) && head.status != 206 }

  // MARK: What the callbacks bring

  func take(headLine line: Span<UInt8>) -> Bool {
    lastSign = loop.now
    guard head.take(line) else { return true }
    if head.status == 206, let partial { return goOn(with: partial) }
    return !isWanted || start()
  }

  private func start() -> Bool {
    let announced = easy.expectedLength
    if let announced, announced > maxBytes {
      stop = .announcedTooLong(announced)
      return false
    }
    partial = nil
    expected = isDecoding ? nil : announced
    transfer.headArrived(expected: expected, at: 0)
    return true
  }

  private func goOn(with partial: PartialBody) -> Bool {
    guard let range = partial.range(addedBy: head, length: easy.expectedLength) else {
      stop = .doesNotFit
      return false
    }
    guard range.total <= maxBytes else {
      stop = .announcedTooLong(range.total)
      return false
    }
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

  func take(bodyPart part: UnsafeRawBufferPointer) -> Bool {
    lastSign = loop.now
    guard isWanted else { return skip(part.count) }
    if let rangeEnd, part.count > rangeEnd - received {
      stop = .doesNotFit
      return false
    }
    guard part.count <= maxBytes - received else {
      stop = .grewTooLong
      return false
    }
    do throws(SystemFailure) {
      try unsafe body.append(part)
    } catch {
      stop = .noRoom(error)
      return false
    }
    received += part.count
    transfer.bodyGrew(to: received, expected: expected)
    return true
  }

  private func skip(_ count: Int) -> Bool {
    skipped += count
    guard skipped > Self.mostSkipped else { return true }
    stop = .skippedEnough
    return false
  }

  func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> CInt? {
    let description = unsafe address.pointee
    let target = unsafe UnsafeRawPointer(address).advanced(
      by: MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    return gate.open(
      unsafe IPAddress(target.assumingMemoryBound(to: sockaddr.self)), family: description.family,
      type: description.socktype, protocol: description.protocol)
  }

  /// The connection stands, and the request goes out next, unless the address is refused.
  func requestIsDue(at address: String) -> Bool {
    guard gate.mayRequest(from: IPAddress(address)) else {
      stop = .refusedAddress
      return false
    }
    lastSign = loop.now
    watchForIdleness(after: request.settings.idleTimeout)
    return true
  }

  // MARK: Idleness

  /// One timer that looks when it fires whether there was a sign of life in between: setting it
  /// anew for every piece of a body would cost more than the piece.
  private func watchForIdleness(after delay: Duration) {
    idleTimer?.cancel()
    idleTimer = loop.schedule(after: delay) { [unowned self] in lookForIdleness() }
  }

  private func lookForIdleness() {
    let rest = lastSign + request.settings.idleTimeout - loop.now
    guard rest <= .zero else { return watchForIdleness(after: rest) }
    stop = .idle
    ended(CURLE_OPERATION_TIMEDOUT)
  }

  private var isDecoding: Bool {
    guard request.decodes, let coding = head.first("content-encoding") else { return false }
    return coding.lowercased() != "identity"
  }
}

extension Exchange.Stop {
  /// Whether what has come of the body is of no use.
  fileprivate var isAboutBody: Bool {
    switch self {
    case .announcedTooLong, .grewTooLong, .noRoom, .doesNotFit: true
    case .skippedEnough, .refusedAddress, .idle: false
    }
  }
}
