// The path of an admitted request: format ─► line ─► held? ─► daemon ─► a drawing? ─► conditions ─► range ─► answer.

internal import ImgdConnection
package import ImgdSystem
internal import ImgdWire

/// Carries out requests for pictures that were admitted.
package final class PictureHandler {
  /// The extra time in which the daemon can report that a picture took too long.
  private static let grace = Duration.seconds(2)

  private let link: DaemonLink
  private let loop: EventLoop
  private let timeout: Duration
  private let wallSeconds: () -> Int64
  private let held: HeldPictures
  private let tally: PictureTally

  /// `timeout` is what a picture may take; `wallSeconds` is the time in seconds since 1970, for dates.
  package init(
    link: DaemonLink, on loop: EventLoop, timeout: Duration, tally: PictureTally = PictureTally(),
    wallSeconds: @escaping () -> Int64 = { WallClock.seconds }
  ) {
    self.link = link
    self.loop = loop
    self.tally = tally
    self.timeout = timeout
    self.wallSeconds = wallSeconds
    held = HeldPictures(link: link, on: loop)
  }

  /// Forgets the pictures that were delivered a moment ago, since something was purged.
  package func forgetHeld() { held.drop() }

  /// Answers a request, unless its client leaves first. The work of decoders is charged to `share`.
  package func fetch(_ request: PictureRequest, for exchange: any HTTPExchange, share: String? = nil) {
    let fetch = PictureFetch(request, for: exchange, share: share)
    guard exchange.method == .get || exchange.method == .head else {
      let refusal = GatewayError(405, "method_not_allowed", "pictures are fetched with GET or HEAD")
      return settle(fetch, with: ErrorAnswer(refusal), adding: [("Allow", "GET, HEAD")])
    }
    begin(fetch)
  }

  private func begin(_ fetch: PictureFetch) {
    var request = fetch.request.fetch(as: fetch.formats, timeout: timeout)
    let key = HeldPictures.Key(
      line: Request.fetch(request).line(), varies: fetch.varies, expires: fetch.request.expires,
      disposition: fetch.request.disposition)
    if !fetch.mayWantPart, let picture = held.find(key, at: loop.now) {
      tally.held.add()
      return answer(fetch, picture.headers) { picture.response }
    }
    expect(fetch)
    let mark = held.mark
    // Not part of the key: all clients are shown the same picture.
    request.extras.share = fetch.share
    ask(request, for: fetch, as: HeldPictures.Place(key: key, mark: mark))
  }

  private func ask(_ request: FetchRequest, for fetch: PictureFetch, as place: HeldPictures.Place) {
    fetch.call = link.ask(.fetch(request), within: timeout + Self.grace) { [unowned self] outcome in
      receive(outcome, to: request, for: fetch, as: place)
    }
  }

  /// Gives the fetch up if its client leaves.
  private func expect(_ fetch: PictureFetch) { fetch.exchange.onLeave = { fetch.letGo() } }

  // MARK: Answers

  private func receive(
    _ outcome: DaemonLink.Outcome, to request: FetchRequest, for fetch: PictureFetch, as place: HeldPictures.Place
  ) {
    let answer: DaemonAnswer
    switch outcome {
    case .success(let told): answer = told
    case .failure(.silent): return settle(fetch, with: .silent)
    case .failure: return settle(fetch, with: .unreachable)
    }
    guard answer.reply.succeeded == true else { return settle(fetch, with: ErrorAnswer(answer.reply)) }
    // A process without room for a descriptor receives none.
    guard let facts = PictureFacts(answer.reply), answer.hasDescriptor else { return settle(fetch, with: .unreachable) }
    guard !facts.isDrawing else { return askForPixels(request, for: fetch, as: place) }
    let headers = PictureHeaders(
      facts: facts, own: fetch.ownFields, mostFresh: fetch.request.expires.map { $0 - Int(wallSeconds()) },
      disposition: fetch.request.disposition)
    let part = { headers.partResponse($0, answer.takeDescriptor()) }
    self.answer(fetch, headers, part: part) {
      let response = headers.wholeResponse(answer.takeDescriptor())
      held.keep(HeldPicture(headers: headers, response: response), as: place)
      return response
    }
  }

  /// Asks for a PNG in place of a drawing: a browser would run what is in that, as a page of this host.
  private func askForPixels(_ request: FetchRequest, for fetch: PictureFetch, as place: HeldPictures.Place) {
    guard request.form.formats != [.png] else { return settle(fetch, with: .unreachable) }
    var request = request
    request.form.formats = [.png]
    ask(request, for: fetch, as: place)
  }

  /// Answers with as much of the picture as the request's conditions ask for; without `part`, only with the whole
  /// picture.
  private func answer(
    _ fetch: PictureFetch, _ headers: PictureHeaders, part: ((Range<Int>) -> HTTPResponse)? = nil,
    whole: () -> HTTPResponse
  ) {
    let facts = headers.facts
    let conditions = Conditions(of: fetch.exchange, now: wallSeconds())
    switch conditions.verdict(on: facts) {
    case .failed:
      let refusal = GatewayError(
        412, "precondition_failed", "the picture is not the one that If-Match or If-Unmodified-Since names")
      return settle(fetch, with: ErrorAnswer(refusal))
    case .isKnown: return settle(fetch, with: headers.notModifiedResponse)
    case .goesOn: break
    }
    guard let part, fetch.mayWantPart, conditions.permitsPart(of: facts) else {
      return settle(fetch, with: whole(), bytes: facts.bytes)
    }
    switch ByteRange(fetch.exchange.fields("Range"), of: facts.bytes) {
    case .whole: settle(fetch, with: whole(), bytes: facts.bytes)
    case .part(let range): settle(fetch, with: part(range), bytes: range.count)
    case .unsatisfiable:
      let refusal = GatewayError(
        416, "range_not_satisfiable", "the picture has \(facts.bytes) bytes, none of which Range names")
      settle(fetch, with: ErrorAnswer(refusal), adding: [("Content-Range", "bytes */\(facts.bytes)")])
    }
  }

  private func settle(_ fetch: PictureFetch, with error: ErrorAnswer, adding fields: HTTPResponse.Fields = []) {
    settle(fetch, with: error.response(adding: fields + fetch.ownFields))
  }

  private func settle(_ fetch: PictureFetch, with response: HTTPResponse, bytes: Int = 0) {
    guard !fetch.hasEnded else { return }
    if fetch.exchange.method == .get { tally.bytes.add(bytes) }
    fetch.exchange.onLeave = nil
    fetch.exchange.answer(response)
    fetch.letGo()
  }
}

/// What a handler has done since it was made.
package final class PictureTally: Sendable {
  /// The bytes of pictures that were handed to the server.
  let bytes = Tally()
  /// Answers for which the daemon was not asked again.
  let held = Tally()

  package init() {}
}

/// One request for a picture, until it has its answer or its client has gone.
final class PictureFetch {
  let request: PictureRequest
  let exchange: any HTTPExchange
  /// The share of the decoders that pays for it; nil for the share of all requests that name none.
  let share: String?
  private(set) var hasEnded = false
  var call: DaemonCall?

  init(_ request: PictureRequest, for exchange: any HTTPExchange, share: String?) {
    self.request = request
    self.exchange = exchange
    self.share = share
  }

  /// Whether the answer depends on the formats that the client takes.
  var varies: Bool { request.negotiatesFormat }

  var ownFields: HTTPResponse.Fields { varies ? [("Vary", "Accept")] : [] }

  /// Whether it may get a part of the picture, which only GET defines.
  var mayWantPart: Bool { exchange.method == .get && !exchange.fields("Range").isEmpty }

  var formats: [OutputFormat] { varies ? AcceptedFormats(exchange.fields("Accept")).formats : request.form.formats }

  /// Ends the request early; a fetch that the daemon has not answered is cancelled there.
  func letGo() {
    guard !hasEnded else { return }
    hasEnded = true
    exchange.onLeave = nil
    call.take()?.cancel()
  }
}
