import ImgdSystem
import ImgdTestSupport

@testable import ImgdTransfer

/// One order on its way through the steps of its answer.
final class PlannedTransfer {
  /// As in the engine, no two reports of progress are closer.
  private static let reportingPause = Duration.milliseconds(100)

  private let order: TransferOrder
  private let loop: EventLoop
  private let report: (TransferEvent) -> Void
  private let startedAt: Instant
  private var maxBytes: Int
  private var deadline: Timer?
  private var steps: ArraySlice<OriginAnswer.Step> = []
  private var head = HeadCollector()
  private var firstByteAfter: Duration?
  /// The received part of the head's next line.
  private var line: [UInt8] = []
  private var body: [UInt8] = []
  private var reportedAt: Instant
  private(set) var isOver = false

  init(_ order: TransferOrder, on loop: EventLoop, report: @escaping (TransferEvent) -> Void) {
    self.order = order
    self.loop = loop
    self.report = report
    startedAt = loop.now
    reportedAt = loop.now
    maxBytes = order.maxBytes
    expect(within: order.deadline)
  }

  func begin(_ steps: [OriginAnswer.Step]) {
    self.steps = steps[...]
    order.phase.enter(.firstByte)
    proceed()
  }

  func adjust(maxBytes: Int, deadline: Duration) {
    self.maxBytes = maxBytes
    expect(within: deadline)
  }

  /// Says nothing more.
  func end() {
    isOver = true
    deadline?.cancel()
  }

  private func expect(within limit: Duration) {
    deadline?.cancel()
    deadline = loop.schedule(after: limit - (loop.now - startedAt)) { [unowned self] in
      fail(.timeout(order.phase.phase), "not done within \(limit)")
    }
  }

  // MARK: Steps

  /// Goes on until a step has to wait.
  private func proceed() {
    while !isOver, let step = steps.popFirst() {
      switch step {
      case .send(let bytes): take(bytes)
      case .repeating(let bytes): while !isOver { take(bytes) }
      case .wait(let gate):
        return gate.pass { [weak self, loop] in loop.nextTick { self?.proceed() } }
      case .silence: return
      case .close: closed()
      case .fail(let failure): finish(.failed(failure as? TransferFailure ?? Self.unplanned))
      case .reset: fail(.internal, "a plan does not reset connections: say which failure it is")
      }
    }
  }

  private static let unplanned = TransferFailure(.internal, "a plan fails with a TransferFailure")

  private func take(_ bytes: [UInt8]) {
    var rest = bytes[...]
    firstByteAfter = firstByteAfter ?? loop.now - startedAt
    while !head.isComplete, let byte = rest.popFirst() {
      line.append(byte)
      guard byte == UInt8(ascii: "\n") else { continue }
      if head.add(line.span) { headArrived() }
      line = []
    }
    guard !isOver, head.isComplete else { return }
    body += rest.prefix((length ?? .max) - body.count)
    if isWanted { bodyGrew() }
    if !isOver, body.count >= length ?? .max { conclude() }
  }

  /// The end of the connection is the end of a body that has no length.
  private func closed() {
    guard head.isComplete, length == nil else {
      return fail(.internal, "a plan does not break off: say which failure it is")
    }
    conclude()
  }

  // MARK: The answer

  /// A body of the requested picture: errors carry bodies too.
  private var isWanted: Bool { (200..<300).contains(head.status) && head.status != 206 }

  private var isConfirmation: Bool { head.status == 304 && order.isConditional }

  private var length: Int? {
    head.status == 204 || head.status == 304 ? 0 : head.first("content-length").flatMap { Int($0) }
  }

  private func headArrived() {
    order.phase.enter(.body)
    precondition(head.first("transfer-encoding") == nil, "a plan has no chunks: use untilClosed")
    guard isWanted else { return }
    if let length, length > maxBytes { return failAsTooLarge() }
    reportedAt = loop.now
    let length = length
    loop.atTickEnd { [weak self] in
      guard let self, !isOver else { return }
      report(.headers(serial: order.serial, expected: length))
    }
  }

  private func bodyGrew() {
    guard body.count <= maxBytes else { return failAsTooLarge() }
    guard loop.now - reportedAt >= Self.reportingPause else { return }
    reportedAt = loop.now
    reportProgress()
  }

  private func reportProgress() {
    report(.progress(serial: order.serial, received: body.count, expected: length))
  }

  private func conclude() {
    if isConfirmation { return receive([]) }
    guard isWanted else { return failForStatus() }
    guard !body.isEmpty else { return finish(.failed(TransferFailure.answer(answer, of: host))) }
    receive(body)
  }

  private func receive(_ body: [UInt8]) {
    finish(
      .received(
        TransferResult(payload: Payload(body), head: answer, retries: 0, resumedFrom: 0, expected: length)))
  }

  private var answer: ResponseHead {
    var answer = head.head
    answer.firstByteAfter = firstByteAfter
    return answer
  }
  private var host: String { (try? TransferURL(order.url).host) ?? "nobody" }

  private func failForStatus() {
    guard (300..<400).contains(head.status), head.first("location") != nil else {
      var failure = TransferFailure.answer(answer, of: host)
      failure.retryAfter = RetryAfter.delay(head.first("retry-after"))
      return finish(.failed(failure))
    }
    redirect()
  }

  /// A name that begins with `public` stands for a public address, and a bucket for its service.
  private func redirect() {
    guard let url = try? TransferURL(order.url.replacing("s3://", with: "http://")), let location = head.location else {
      return fail(.internal, "a plan redirects from a URL to a location")
    }
    do throws(TransferFailure) {
      let target = try url.following(location)
      finish(
        .redirected(
          TransferRedirect(
            head: answer, target: target.text, isFromPublicAddress: url.host.hasPrefix("public"),
            retries: 0)))
    } catch {
      finish(.failed(error))
    }
  }

  private func failAsTooLarge() {
    var failure = TransferFailure(.tooLarge, "\(maxBytes) bytes are allowed")
    failure.limit = maxBytes
    failure.expected = length
    failure.received = body.count
    finish(.failed(failure))
  }

  private func fail(_ kind: TransferFailure.Kind, _ message: String) {
    finish(.failed(TransferFailure(kind, message)))
  }

  private func finish(_ outcome: TransferOutcome) {
    end()
    report(.finished(serial: order.serial, outcome))
  }
}
