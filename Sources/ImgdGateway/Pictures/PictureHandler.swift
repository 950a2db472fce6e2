// The path of an admitted request: format ─► line ─► daemon ─► a drawing? ─► conditions ─► range ─► answer. What is held
// is answered before a request is read.

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
  private let cors: CrossOrigins
  private let fallbacks: FallbackPictures
  private let fallbackStatus: FallbackStatus
  private let fallbackForms: FallbackForms
  private let wallSeconds: () -> Int64
  private let held: HeldPictures
  private let tally: PictureTally

  /// `timeout` is how long a picture may take, `room` how many may be held, and `wallSeconds` the time in seconds since
  /// 1970, for dates.
  package init(
    link: DaemonLink, on loop: EventLoop, timeout: Duration, cors: CrossOrigins = CrossOrigins(),
    fallbacks: FallbackPictures = .none, fallbackStatus: FallbackStatus = .error, room: Int = HeldPictures.fewest,
    tally: PictureTally = PictureTally(), wallSeconds: @escaping () -> Int64 = { WallClock.seconds }
  ) {
    self.link = link
    self.loop = loop
    self.tally = tally
    self.timeout = timeout
    self.cors = cors
    self.fallbacks = fallbacks
    self.fallbackStatus = fallbackStatus
    fallbackForms = FallbackForms(link: link)
    self.wallSeconds = wallSeconds
    held = HeldPictures(link: link, on: loop, room: room)
  }

  /// Forgets the pictures that were delivered a moment ago, since something was purged.
  package func forgetHeld() { held.drop() }

  /// Answers a request with a picture that is held for its target, which was admitted then; false if there is none.
  package func answerHeld(_ exchange: any HTTPExchange) -> Bool {
    guard exchange.method == .get || exchange.method == .head,
      let picture = held.find(
        exchange.target, for: cors.permitted(exchange), formats: { AcceptedFormats(exchange.fields("Accept")).formats }),
      !PictureFetch.mayWantPart(exchange)
    else { return false }
    tally.held.add()
    exchange.notes.source = .held
    let (response, bytes) = reply(to: exchange, picture.headers) { picture.response }
    send(response, bytes: bytes, to: exchange)
    return true
  }

  /// Answers a browser that asks whether a script of another origin may read a picture; false for any other request.
  package func answerPreflight(_ exchange: any HTTPExchange) -> Bool {
    guard exchange.method == .options, cors.isOpen else { return false }
    exchange.answer(cors.preflight(of: exchange))
    return true
  }

  /// Answers a request that is not carried out.
  package func refuse(_ exchange: any HTTPExchange, _ error: GatewayError) {
    let fields = AnswerFields(to: exchange, cors)
    exchange.answer(ErrorAnswer(error).response(adding: fields.all))
  }

  /// Answers a request, unless its client leaves first. The work of decoders is charged to `share`.
  package func fetch(_ request: PictureRequest, for exchange: any HTTPExchange, share: String? = nil) {
    let fetch = PictureFetch(request, for: exchange, share: share, cors)
    guard exchange.method == .get || exchange.method == .head else {
      let refusal = GatewayError(405, "method_not_allowed", "pictures are fetched with GET or HEAD")
      return settle(fetch, with: ErrorAnswer(refusal), adding: [("Allow", "GET, HEAD")])
    }
    begin(fetch)
  }

  private func begin(_ fetch: PictureFetch) {
    var request = fetch.request.fetch(as: fetch.formats, timeout: timeout)
    let place = held.place(
      for: fetch.exchange.target, of: fetch.fields.origin, formats: fetch.varies ? request.form.formats : nil,
      url: request.url)
    expect(fetch)
    // Not part of the place: all clients are shown the same picture.
    request.extras.share = fetch.share
    if let trace = TraceContext(fetch.exchange.fields("traceparent"))?.child() {
      fetch.exchange.notes.trace = trace
      request.extras.headers = [RequestHeader(name: "traceparent", value: trace.text)]
    }
    ask(request, for: fetch, as: place)
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
    guard answer.reply.succeeded == true else { return fail(fetch, request, with: ErrorAnswer(answer.reply)) }
    fetch.exchange.notes.source = answer.reply.text("source").flatMap { AnswerSource(rawValue: $0) }
    // A process without room for a descriptor receives none.
    guard let facts = PictureFacts(answer.reply), answer.hasDescriptor else { return settle(fetch, with: .unreachable) }
    guard !facts.isDrawing || fetch.request.asksForFacts else { return askForPixels(request, for: fetch, as: place) }
    let headers = headers(of: facts, CacheStatus(of: answer.reply), for: fetch)
    guard !fetch.request.asksForFacts else {
      let (facts, whole) = headers.telling(answer.reply)
      return settle(fetch, with: self.reply(to: fetch.exchange, facts) { whole }.0)
    }
    let part = { headers.partResponse($0, answer.takeDescriptor()) }
    let (response, bytes) = reply(to: fetch.exchange, headers, part: part) {
      let response = headers.wholeResponse(answer.takeDescriptor())
      held.keep(headers, response, as: place)
      return response
    }
    settle(fetch, with: response, bytes: bytes)
  }

  private func headers(of facts: PictureFacts, _ status: CacheStatus, for fetch: PictureFetch) -> PictureHeaders {
    PictureHeaders(
      facts: facts, status: status, common: fetch.fields.all,
      mostFresh: fetch.request.expires.map { $0 - Int(wallSeconds()) }, disposition: fetch.request.disposition)
  }

  /// Answers with the fallback picture, or if there is none, with the error.
  private func fail(_ fetch: PictureFetch, _ request: FetchRequest, with error: ErrorAnswer) {
    guard error.permitsFallback, !fetch.request.asksForFacts,
      let picture = fallbacks.picture(for: fetch.request.presets)
    else { return settle(fetch, with: error) }
    fallbackForms.show(picture, inPlaceOf: request, within: timeout + Self.grace) { [unowned self] answer in
      guard let answer, let facts = PictureFacts(answer.reply), let status = error.cacheStatus else {
        return settle(fetch, with: error)
      }
      let headers = headers(of: facts.standingIn, status, for: fetch)
      guard fallbackStatus == .ok else {
        // Conditions and ranges are about answers that succeed (RFC 9110, 13.2.1).
        let response = headers.wholeResponse(
          answer.takeDescriptor(), status: error.status, adding: error.retryFields)
        return settle(fetch, with: response, bytes: facts.bytes)
      }
      let part = { headers.partResponse($0, answer.takeDescriptor()) }
      let (response, bytes) = reply(to: fetch.exchange, headers, part: part) {
        headers.wholeResponse(answer.takeDescriptor())
      }
      settle(fetch, with: response, bytes: bytes)
    }
  }

  /// Asks for a PNG in place of a drawing: a browser would run what is in that, as a page of this host.
  private func askForPixels(_ request: FetchRequest, for fetch: PictureFetch, as place: HeldPictures.Place) {
    guard request.form.formats != [.png] else { return settle(fetch, with: .unreachable) }
    var request = request
    request.form.formats = [.png]
    ask(request, for: fetch, as: place)
  }

  /// The answer with as much of the picture as the request's conditions ask for, and how many bytes that is; without
  /// `part`, only with the whole picture.
  private func reply(
    to exchange: any HTTPExchange, _ headers: PictureHeaders, part: ((Range<Int>) -> HTTPResponse)? = nil,
    whole: () -> HTTPResponse
  ) -> (HTTPResponse, bytes: Int) {
    let facts = headers.facts
    let conditions = Conditions(of: exchange, now: wallSeconds())
    switch conditions.verdict(on: facts) {
    case .failed:
      let refusal = GatewayError(
        412, "precondition_failed", "the picture is not the one that If-Match or If-Unmodified-Since names")
      return (ErrorAnswer(refusal).response(adding: headers.own), 0)
    case .isKnown: return (headers.notModifiedResponse, 0)
    case .goesOn: break
    }
    guard let part, PictureFetch.mayWantPart(exchange), conditions.permitsPart(of: facts) else {
      return (whole(), facts.bytes)
    }
    switch ByteRange(exchange.fields("Range"), of: facts.bytes) {
    case .whole: return (whole(), facts.bytes)
    case .part(let range): return (part(range), range.count)
    case .unsatisfiable:
      let refusal = GatewayError(
        416, "range_not_satisfiable", "the picture has \(facts.bytes) bytes, none of which Range names")
      let range = [("Content-Range", "bytes */\(facts.bytes)")]
      return (ErrorAnswer(refusal).response(adding: range + headers.own), 0)
    }
  }

  private func settle(_ fetch: PictureFetch, with error: ErrorAnswer, adding fields: HTTPResponse.Fields = []) {
    settle(fetch, with: error.response(adding: fields + fetch.fields.all))
  }

  private func settle(_ fetch: PictureFetch, with response: HTTPResponse, bytes: Int = 0) {
    guard !fetch.hasEnded else { return }
    fetch.exchange.onLeave = nil
    send(response, bytes: bytes, to: fetch.exchange)
    fetch.letGo()
  }

  private func send(_ response: HTTPResponse, bytes: Int, to exchange: any HTTPExchange) {
    if exchange.method == .get { tally.bytes.add(bytes) }
    exchange.answer(response)
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
  /// The fields of every answer to it.
  let fields: AnswerFields
  private(set) var hasEnded = false
  var call: DaemonCall?

  init(_ request: PictureRequest, for exchange: any HTTPExchange, share: String?, _ cors: CrossOrigins) {
    self.request = request
    fields = AnswerFields(to: exchange, cors, variesByAccept: request.negotiatesFormat)
    self.exchange = exchange
    self.share = share
  }

  /// Whether the answer depends on the formats that the client takes.
  var varies: Bool { request.negotiatesFormat }

  /// Whether a request may get a part of its picture, which only GET defines.
  static func mayWantPart(_ exchange: any HTTPExchange) -> Bool {
    exchange.method == .get && !exchange.fields("Range").isEmpty
  }

  var formats: [OutputFormat] { varies ? AcceptedFormats(exchange.fields("Accept")).formats : request.form.formats }

  /// Ends the request early; a fetch that the daemon has not answered is cancelled there.
  func letGo() {
    guard !hasEnded else { return }
    hasEnded = true
    exchange.onLeave = nil
    call.take()?.cancel()
  }
}

/// The fields that every answer to a request has, whatever becomes of it.
struct AnswerFields {
  /// The origin whose scripts may read the answer, or `*`.
  let origin: String?
  let all: HTTPResponse.Fields

  init(to exchange: any HTTPExchange, _ cors: CrossOrigins, variesByAccept: Bool = false) {
    origin = cors.permitted(exchange)
    let varying = (variesByAccept ? ["Accept"] : []) + (cors.differ ? ["Origin"] : [])
    all = (varying.isEmpty ? [] : [("Vary", varying.joined(separator: ", "))]) + cors.fields(for: origin)
  }
}
