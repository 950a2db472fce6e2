// One order from begin to end.
//
//   begin → exchange ─┬→ received, or failed for good → end
//             ▲       ├→ redirected → the next hop ──┐
//             │       └→ failed for now → a pause ───┤
//             └──────────────────────────────────────┘
//
// A body that breaks off is continued by the next exchange with the same hop, or by another transfer
// later: what has come of it goes from exchange to exchange, and at the end to the desk.
//
// One deadline runs over all of it. Whatever ends a transfer takes its handle out of curl and its
// timers off the loop first, and reports last, so that nothing follows the last word.

internal import CCurl
internal import ImgdSystem

final class Transfer {
  /// Ten reports a second are smooth to the eye; more would only be work.
  private static let reportingPause = Duration.milliseconds(100)

  let order: TransferOrder
  private let settings: TransferSettings
  private unowned let desk: TransferDesk
  private let startedAt: Instant
  private var maxBytes: Int
  private var timeLimit: Duration
  private var route: Route?
  private var retry: RetryPolicy
  private var decodes = true
  private var avoidsKeptConnections = false

  /// What the next exchange with this hop is to continue.
  private var partial: PartialBody?
  /// The most that has been there of the body.
  private var furthest = 0

  private var exchange: Exchange?
  private var deadline: Timer?
  private var pause: Timer?
  private var reportedAt: Instant?
  private var reported = 0
  /// Whether this hop's head has been reported.
  private var hasHead = false

  init(_ order: TransferOrder, settings: TransferSettings, desk: TransferDesk) {
    self.order = order
    self.settings = settings
    self.desk = desk
    startedAt = desk.loop.now
    maxBytes = order.maxBytes
    timeLimit = order.deadline
    retry = RetryPolicy(most: settings.retries)
  }

  // MARK: From outside

  func begin() {
    watchDeadline()
    do throws(TransferFailure) {
      route = Route(to: try TransferURL(order.url))
    } catch {
      return end(.failed(error))
    }
    arrive()
  }

  func adjust(maxBytes: Int, deadline: Duration) {
    self.maxBytes = maxBytes
    exchange?.maxBytes = maxBytes
    timeLimit = deadline
    watchDeadline()
  }

  /// Ends without a word.
  func close() {
    deadline?.cancel()
    pause?.cancel()
    if let exchange {
      partial = order.isResumable ? exchange.takePartial() : nil
      release(exchange)
    }
    if let partial, let partialKey {
      desk.partials.add(partial, for: partialKey, at: desk.loop.now)
    }
    partial = nil
  }

  private func watchDeadline() {
    deadline?.cancel()
    deadline = desk.loop.schedule(after: rest) { [unowned self] in timeIsUp() }
  }

  private var rest: Duration { timeLimit - (desk.loop.now - startedAt) }

  private func timeIsUp() {
    let host = route.map { "\($0.url.host) is" } ?? "the transfer is"
    var failure = TransferFailure(.timeout(.total), "\(host) not done within \(timeLimit)")
    failure.expected = exchange?.expected
    failure.received = exchange?.received
    end(.failed(failure))
  }

  // MARK: Exchanges

  /// Begins with a hop, where an earlier transfer may have left off.
  private func arrive() {
    partial = partialKey.flatMap { desk.partials.take($0, at: desk.loop.now) }
    furthest = partial?.count ?? 0
    hasHead = false
    send()
  }

  private var partialKey: PartialKey? {
    guard let route, order.isResumable, order.keepsPartial else { return nil }
    return PartialKey(
      url: route.url.text, ordered: order.headers, sent: route.headers(of: order))
  }

  private func send() {
    do throws(TransferFailure) {
      guard let route else { return }
      if settings.proxy != nil { try route.check(settings.addressRule) }
      let exchange = Exchange(
        request(on: route), on: try desk.takeHandle(), for: self, maxBytes: maxBytes,
        resuming: partial.take(), loop: desk.loop)
      self.exchange = exchange
      desk.multi.add(exchange)
    } catch {
      end(.failed(error))
    }
  }

  private func request(on route: Route) -> Request {
    var request = Request(url: route.url, headers: route.headers(of: order), settings: settings)
    request.afterPublic = route.afterPublic
    request.decodes = decodes
    request.avoidsKeptConnections = avoidsKeptConnections
    request.resuming = partial?.headers ?? []
    return request
  }

  private func release(_ exchange: Exchange) {
    self.exchange = nil
    exchange.close()
    desk.multi.remove(exchange)
    desk.giveBack(exchange.easy)
  }

  func exchangeEnded(_ code: CURLcode) {
    guard let exchange else { return }
    let verdict = exchange.verdict(code, isConditional: order.isConditional)
    if order.isResumable, verdict.leavesPartial { partial = exchange.takePartial() }
    release(exchange)
    switch verdict {
    case .received, .confirmed: deliver(exchange)
    case .redirected(let location): follow(location, from: exchange)
    case .undecodable:
      decodes = false
      send()
    case .keptConnectionRefused:
      avoidsKeptConnections = true
      send()
    case .notContinued: send()
    case .failed(let failure): fail(failure, in: exchange)
    }
  }

  private func deliver(_ exchange: Exchange) {
    do throws(SystemFailure) {
      let payload = try exchange.takeBody()
      if payload.count != reported { report(payload.count, expected: exchange.expected) }
      let head = exchange.head.head(finalURL: route?.finalURL)
      let result = TransferResult(
        payload: payload, head: head, retries: retry.made, resumedFrom: exchange.resumedFrom)
      end(.received(result))
    } catch {
      end(.failed(TransferFailure(.unavailable, "no room for the body: \(error)")))
    }
  }

  private func follow(_ location: String, from exchange: Exchange) {
    do throws(TransferFailure) {
      let literal = IPAddress(exchange.request.url.host)
      try route?.follow(
        location, from: exchange.gate.connected ?? literal, atMost: settings.maxRedirects)
      decodes = true
      avoidsKeptConnections = false
      arrive()
    } catch {
      end(.failed(error))
    }
  }

  private func fail(_ failure: TransferFailure, in exchange: Exchange) {
    let there = partial?.count ?? 0
    let hasGained = there > furthest
    furthest = max(there, furthest)
    if let delay = retry.pause(after: failure, rest: rest, gained: hasGained) {
      pause = desk.loop.schedule(after: delay) { [unowned self] in send() }
      return
    }
    var failure = failure
    if exchange.head.isComplete { failure.head = exchange.head.head(finalURL: route?.finalURL) }
    end(.failed(failure))
  }

  private func end(_ outcome: TransferOutcome) {
    close()
    var outcome = outcome
    if case .failed(var failure) = outcome {
      failure.retries = retry.made
      outcome = .failed(failure)
    }
    desk.ended(self, outcome)
  }

  // MARK: News

  /// `start` is what there was of the body before: who has seen it grow is not told again.
  func headArrived(expected: Int?, at start: Int) {
    reportedAt = desk.loop.now
    if start == 0 || !hasHead {
      hasHead = true
      reported = 0
      desk.report(.headers(serial: order.serial, expected: expected))
    }
    if start > reported { report(start, expected: expected) }
  }

  func bodyGrew(to received: Int, expected: Int?) {
    let now = desk.loop.now
    if let reportedAt, now - reportedAt < Self.reportingPause { return }
    reportedAt = now
    report(received, expected: expected)
  }

  private func report(_ received: Int, expected: Int?) {
    reported = received
    desk.report(.progress(serial: order.serial, received: received, expected: expected))
  }
}
