// One order from beginning to end.
//
//   begin → exchange ─┬→ received, redirected, or failed for good → end
//             ▲       └→ failed for now → a pause ───┐
//             └──────────────────────────────────────┘
//
// A redirect is an outcome like others: its target is a URL of its own, which the caller may
// already have. A body that breaks off is continued by the next exchange, or by a later transfer: the
// partial body goes from exchange to exchange, and at the end to the table.
//
// One deadline covers all of it. When a transfer ends, it first removes its handle from curl and its
// timers from the loop, and then reports, so that no event follows the final one.

internal import CCurl
internal import ImgdSystem
internal import ImgdText

final class Transfer {
  /// Ten reports a second are enough for a smooth progress bar.
  private static let reportingPause = Duration.milliseconds(100)
  /// A kept connection may break just when its request is sent, after which curl asks once more.
  private static let mostLookups = 3
  /// How often the request is signed anew for another region: two regions could name each other.
  private static let mostMoves = 2

  let order: TransferOrder
  private let settings: TransferSettings
  private unowned let table: TransferTable
  private let startedAt: Instant
  private var maxBytes: Int
  private var timeLimit: Duration
  private var url: TransferURL?
  /// Where the bucket of the object is, if the URL is that of one.
  private var place: BucketPlace?
  private var moves = 0
  private var retry: RetryPolicy
  private var decodes = true
  private var avoidsKeptConnections = false
  /// The look-up of the host's name, while the transfer waits for it.
  private var question: NamedLookup.Question?
  private var patience: Timer?
  /// How often this attempt had to look the name up, and how long it has waited.
  private var lookups = 0
  private var waitedForName = Duration.zero

  /// The body that the next exchange is to continue.
  private var partial: PartialBody?
  /// The bytes of the body that are held, here or by the exchange.
  private var held = 0
  /// The largest size that the partial body has had.
  private var furthest = 0

  private var contact: FirstContact?
  private var exchange: Exchange?
  private var deadline: Timer?
  private var pause: Timer?
  private var reportedAt: Instant?
  private var hasHead = false

  init(_ order: TransferOrder, settings: TransferSettings, table: TransferTable) {
    self.order = order
    self.settings = settings
    self.table = table
    startedAt = table.loop.now
    maxBytes = order.maxBytes
    timeLimit = order.deadline
    retry = RetryPolicy(most: settings.retries)
  }

  // MARK: Commands

  func begin() {
    watchDeadline()
    place = order.signer?.place
    do throws(TransferFailure) { url = try locate() } catch { return finish(.failed(error)) }
    partial = partialKey.flatMap { table.partials.takeBody(of: $0, at: table.loop.now) }
    furthest = partial?.count ?? 0
    hold(furthest)
    approach()
  }

  func adjust(maxBytes: Int, deadline: Duration) {
    self.maxBytes = maxBytes
    exchange?.maxBytes = maxBytes
    timeLimit = deadline
    watchDeadline()
  }

  func close() {
    deadline?.cancel()
    pause?.cancel()
    stopLookup()
    leaveContact()
    if let exchange {
      partial = order.isResumable ? exchange.takePartial() : nil
      release(exchange)
    }
    if let partial, let partialKey { table.partials.add(partial, for: partialKey, at: table.loop.now) }
    partial = nil
    hold(0)
  }

  private func watchDeadline() {
    deadline?.cancel()
    deadline = table.loop.schedule(after: rest) { [unowned self] in timeIsUp() }
  }

  private var rest: Duration { timeLimit - (table.loop.now - startedAt) }

  private func timeIsUp() {
    let (host, phase) = (url?.host ?? "the host", order.phase.phase)
    var failure = TransferFailure.timeout(phase, of: host, after: timeLimit)
    failure.expected = exchange?.expected
    failure.received = exchange?.received
    finish(.failed(failure))
  }

  // MARK: Exchanges

  /// The URL that is requested.
  private func locate() throws(TransferFailure) -> TransferURL {
    guard place != nil || order.url.hasPrefix("\(ObjectURL.scheme)://") else { return try table.url(order.url) }
    let object: ObjectURL
    do throws(ObjectURLProblem) { object = try ObjectURL(order.url) } catch {
      throw TransferFailure(.badURL, error.reason)
    }
    guard let place else {
      let bucket = "\(ObjectURL.scheme)://\(object.bucket)"
      throw TransferFailure(.badURL, "\(bucket) needs a section [Origin \(bucket)] in the configuration")
    }
    return try place.url(of: object)
  }

  /// Begins, or lets another transfer to the same origin go ahead.
  private func approach() {
    guard let url, url.isEncrypted else { return attempt() }
    order.phase.enter(.connect)
    let contact = table.contacts.contact(with: url.origin, loop: table.loop)
    self.contact = contact
    contact.join(order.serial, patience: settings.contactPatience) { [unowned self] in attempt() }
  }

  private func leaveContact() {
    if let contact = contact.take() { table.contacts.leave(contact, order.serial) }
  }

  private func attempt() {
    lookups = 0
    waitedForName = .zero
    send()
  }

  private var partialKey: PartialKey? {
    order.isResumable && order.keepsPartial ? PartialKey(url: order.url, headers: order.headers) : nil
  }

  private func send() {
    do throws(TransferFailure) {
      guard let url else { return }
      if order.proxy != nil { try checkAddress(in: url) }
      order.phase.enter(.connect)
      let exchange = Exchange(
        try request(for: url), on: try table.takeHandle(for: settings), for: self, maxBytes: maxBytes,
        resuming: partial.take(), loop: table.loop)
      self.exchange = exchange
      table.sessions.attach(exchange.easy, for: url)
      table.multi.add(exchange)
    } catch { finish(.failed(error)) }
  }

  /// Behind a proxy only an address that is written in the URL can be checked.
  private func checkAddress(in url: TransferURL) throws(TransferFailure) {
    guard let address = IPAddress(url.host), !settings.addressRule.permits(address, afterPublic: order.isAfterPublic)
    else { return }
    var failure = TransferFailure(.blockedAddress, "\(url.host) is an address that imgd may not connect to")
    failure.address = address.description
    throw failure
  }

  private func request(for url: TransferURL) throws(TransferFailure) -> ExchangeRequest {
    let signature = place.flatMap { order.signer?.sign(order.headers, for: url, at: $0) }
    let request = try ExchangeRequest(
      url: url, headers: signature?.fields ?? order.headers, settings: settings, proxy: order.proxy)
    request.signature = signature
    request.throttle = order.throttle
    request.addresses = request.target.name.flatMap(table.names.known) ?? []
    request.connectTimeout -= waitedForName
    request.afterPublic = order.isAfterPublic
    request.decodes = decodes
    request.avoidsKeptConnections = avoidsKeptConnections
    request.resuming = partial?.headers ?? []
    return request
  }

  private func release(_ exchange: Exchange) {
    self.exchange = nil
    exchange.close()
    table.multi.remove(exchange)
    table.giveBack(exchange.easy, isClean: exchange.leavesHandleClean)
  }

  func exchangeEnded(_ code: CURLcode) {
    guard let exchange else { return }
    let verdict = ExchangeReview(exchange: exchange, code: code).verdict(isConditional: order.isConditional)
    if order.isResumable, verdict.leavesPartial { partial = exchange.takePartial() }
    release(exchange)
    hold(partial?.count ?? 0)
    switch verdict {
    case .received, .confirmed: deliver(exchange)
    case .redirected(let location): redirect(to: location, from: exchange)
    case .moved(let place) where moves < Self.mostMoves: move(to: place)
    case .moved: fail(ExchangeReview(exchange: exchange, code: code).refusal, in: exchange)
    case .undecodable:
      decodes = false
      send()
    case .keptConnectionRefused:
      avoidsKeptConnections = true
      send()
    case .needsAddress: lookUp(exchange.request.target)
    case .notContinued: send()
    case .failed(let failure): fail(failure, in: exchange)
    }
  }

  func socketOpened(_ socket: CInt, by exchange: Exchange) { table.multi.noteOpened(socket, by: exchange) }

  /// Called when a connection is ready: one that was there before, or a new one with its handshake, if it has TLS.
  func requestBegins(isConnected: Bool, handshake: Handshake?) {
    if let exchange { table.multi.noteConnected(exchange) }
    table.count.countRequest(isConnected: isConnected, handshake)
    if handshake?.awaitsSession != true { noteContact() }
  }

  /// Lets others follow to the same origin.
  func noteContact() { contact?.noteMade() }

  private func hold(_ bytes: Int) {
    table.count.bodies.add(bytes - held)
    held = bytes
  }

  // MARK: Names

  /// Looks up the name of the host, and begins again with its addresses.
  private func lookUp(_ target: TransferURL) {
    guard let name = target.name, lookups < Self.mostLookups else {
      return finish(.failed(TransferFailure(.internal, "the addresses of \(target.host) are not used")))
    }
    lookups += 1
    // A look-up for another transfer may have found the addresses since this exchange began.
    guard table.names.known(name) == nil else { return send() }
    order.phase.enter(.dns)
    let begun = table.loop.now
    let limit = settings.connectTimeout
    patience = table.loop.schedule(after: limit - waitedForName) { [unowned self] in
      finish(.failed(TransferFailure.timeout(.dns, of: name, after: limit)))
    }
    question = table.names.find(name, for: order.uid) { [unowned self] answer in
      waitedForName += table.loop.now - begun
      stopLookup()
      switch answer {
      case .addresses: send()
      case .unknown: finish(.failed(TransferFailure(.dns, "the name \(name) has no address")))
      case .failed(let why): finish(.failed(TransferFailure(.dns, "the name \(name) cannot be looked up: \(why)")))
      case .shortage(let why): finish(.failed(TransferFailure(.unavailable, "\(name) cannot be looked up: \(why)")))
      }
    }
  }

  private func stopLookup() {
    patience?.cancel()
    patience = nil
    if let question { table.names.withdraw(question) }
    question = nil
  }

  // MARK: Outcomes

  private func deliver(_ exchange: Exchange) {
    if let place { order.signer?.keep(place) }
    do throws(SystemFailure) {
      let result = TransferResult(
        payload: try exchange.takeBody(), head: exchange.answerHead, retries: retry.made,
        resumedFrom: exchange.resumedFrom, expected: exchange.expected,
        isFromPublicAddress: isFromPublicAddress(exchange))
      finish(.received(result))
    } catch { finish(.failed(TransferFailure(.unavailable, "no room for the body: \(error)"))) }
  }

  /// A host whose name a proxy has resolved has no known address, and counts as public.
  private func isFromPublicAddress(_ exchange: Exchange) -> Bool {
    (exchange.addresses.connected ?? IPAddress(exchange.request.url.host))?.isPublic ?? true
  }

  private func redirect(to location: String, from exchange: Exchange) {
    do throws(TransferFailure) {
      let url = exchange.request.url
      let target = try url.following(location)
      let redirect = TransferRedirect(
        head: exchange.answerHead, target: target.text, isFromPublicAddress: isFromPublicAddress(exchange),
        retries: retry.made)
      finish(.redirected(redirect))
    } catch { finish(.failed(error)) }
  }

  /// Requests the object where its bucket is said to be, with another signature.
  private func move(to place: BucketPlace) {
    moves += 1
    self.place = place
    leaveContact()
    do throws(TransferFailure) { url = try locate() } catch { return finish(.failed(error)) }
    approach()
  }

  private func fail(_ failure: TransferFailure, in exchange: Exchange) {
    noteContact()
    let kept = partial?.count ?? 0
    let hasGained = kept > furthest
    furthest = max(kept, furthest)
    if let delay = retry.pause(after: failure, rest: rest, gained: hasGained) {
      pause = table.loop.schedule(after: delay) { [unowned self] in attempt() }
      return
    }
    var failure = failure
    if exchange.head.isComplete { failure.head = exchange.answerHead }
    finish(.failed(failure))
  }

  private func finish(_ outcome: TransferOutcome) {
    close()
    var outcome = outcome
    if case .failed(var failure) = outcome {
      failure.retries = retry.made
      outcome = .failed(failure)
    }
    table.ended(self, outcome)
  }

  // MARK: Reports

  /// `start` is the number of bytes kept from before, whose growth has been reported already. The head is reported at
  /// the end of the tick, unless something was kept: a small picture is complete by then.
  func headArrived(expected: Int?, at start: Int) {
    hold(start)
    reportedAt = table.loop.now
    guard start == 0 else { return tellHead(expected, at: start) }
    table.loop.atTickEnd { [weak self, exchange] in
      guard let self, let exchange, self.exchange === exchange else { return }
      tellHead(expected, at: start)
    }
  }

  private func tellHead(_ expected: Int?, at start: Int) {
    if start == 0 || !hasHead {
      hasHead = true
      table.report(.headers(serial: order.serial, expected: expected))
    }
    if start > 0 { report(start, expected: expected) }
  }

  func bodyGrew(to received: Int, expected: Int?) {
    hold(received)
    let now = table.loop.now
    if let reportedAt, now - reportedAt < Self.reportingPause { return }
    reportedAt = now
    report(received, expected: expected)
  }

  private func report(_ received: Int, expected: Int?) {
    table.report(.progress(serial: order.serial, received: received, expected: expected))
  }
}
