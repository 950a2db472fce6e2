import ImgdConnection
package import ImgdSystem
import ImgdText
import ImgdWire

/// Answers the requests for the page, and those that the page itself sends.
package final class PageHandler {
  private let link: DaemonLink
  private let loop: EventLoop
  private let admission: PageAdmission
  private let onPurge: () -> Void
  private let counters: () -> GatewayCounters
  private lazy var document = PageDocument.embedded()
  private let feed: EventFeed
  private let newest: NewestPictures
  /// Whether the gateway is about to stop, so that balancers should send nobody here any more.
  package var isLeaving = false

  package init(
    link: DaemonLink, on loop: EventLoop, access: GatewayConfiguration.PageAccess, token: PurgeToken?,
    onPurge: @escaping () -> Void = {}, counters: @escaping () -> GatewayCounters
  ) {
    self.link = link
    self.loop = loop
    admission = PageAdmission(access: access, token: token)
    self.onPurge = onPurge
    self.counters = counters
    feed = EventFeed(link, on: loop, purges: token != nil)
    newest = NewestPictures(link, on: loop)
  }

  /// Begins to gather the history that a newly opened page shows, unless nobody may open one.
  package func gatherPast() { if admission.access != .no { feed.look() } }

  /// Whether a target belongs to the page.
  package func owns(_ target: String) -> Bool { PageRoute(rawValue: PageQuery(target).path) != nil }

  /// Answers a request, now or later; false if its target does not belong to the page. The work of decoders is charged
  /// to `share`.
  package func answer(_ exchange: any HTTPExchange, share: String? = nil) -> Bool {
    let query = PageQuery(exchange.target)
    guard let route = PageRoute(rawValue: query.path) else { return false }
    do throws(GatewayError) {
      try admission.check(route, exchange)
      try carryOut(route, query, exchange, share)
    } catch {
      exchange.answer(PageAnswer.refusal(error, error.status == 405 ? [("Allow", route.methods)] : []))
    }
    return true
  }

  // MARK: Routes

  private func carryOut(_ route: PageRoute, _ query: PageQuery, _ exchange: any HTTPExchange, _ share: String?)
    throws(GatewayError)
  {
    switch route {
    case .page: exchange.answer(document.response)
    case .icon: exchange.answer(PageDocument.icon())
    case .events: try watch(exchange)
    case .entries: newest.list { Self.finish(exchange, $0) }
    case .search: EntryCollection.search(try query.value(of: "q"), link) { Self.finish(exchange, $0) }
    case .forms: EntryCollection.list(try query.value(of: "url"), link) { Self.finish(exchange, $0) }
    case .entry: look(at: try query.value(of: "url"), exchange)
    case .thumbnail: show(.thumbnail, of: try query.value(of: "url"), exchange, share)
    case .preview: show(.preview, of: try query.value(of: "url"), exchange, share)
    case .original: show(.original, of: try query.value(of: "url"), exchange, share)
    case .purge: purge(try query.purge(), exchange)
    case .metrics: measure(exchange)
    case .health: examine(exchange)
    case .live: exchange.answer(PageAnswer.json { $0.field("status", "ok") })
    case .ready where isLeaving:
      throw GatewayError(503, "unavailable", "the gateway is about to stop", isRetryable: true)
    case .ready: examine(exchange)
    }
  }

  private static func finish(_ exchange: any HTTPExchange, _ result: Result<HTTPResponse, GatewayError>) {
    switch result {
    case .success(let response): exchange.answer(response)
    case .failure(let error): exchange.answer(PageAnswer.refusal(error))
    }
  }

  private func watch(_ exchange: any HTTPExchange) throws(GatewayError) {
    let fields = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")]
    guard exchange.method == .get else {
      return exchange.answer(HTTPResponse(status: 200, fields: fields + PageAnswer.common, body: .bytes([])))
    }
    guard let stream = feed.addViewer() else {
      throw GatewayError(
        503, "too_many_requests", "\(EventFeed.mostViewers) have the page open already", isRetryable: true)
    }
    exchange.answer(HTTPResponse(status: 200, fields: fields + PageAnswer.common, body: .stream(stream)))
  }

  private func look(at url: String, _ exchange: any HTTPExchange) {
    link.ask(.query(QueryRequest(url: url))) { result in
      Self.finish(
        exchange,
        PageReply.of(result).map { reply in
          PageAnswer.json { line in
            line.name("entry")
            EntryFields.write(reply, in: reply.text("tier"), to: &line)
          }
        })
    }
  }

  private func show(_ picture: PagePicture, of url: String, _ exchange: any HTTPExchange, _ share: String?) {
    let request = picture.request(url, share: share)
    let call = link.ask(.fetch(request), within: .seconds(15)) { result in
      exchange.onLeave = nil
      let picture: Result<HTTPResponse, GatewayError> = PageReply.of(result).flatMap { _ in
        let tags = exchange.fields("If-None-Match")
        guard let answer = try? result.get(), let response = PagePicture.response(to: answer, known: tags) else {
          return .failure(GatewayError(500, "internal", "the daemon's answer came without a picture"))
        }
        return .success(response)
      }
      Self.finish(exchange, picture)
    }
    exchange.onLeave = { call.cancel() }
  }

  private func purge(_ request: PurgeRequest, _ exchange: any HTTPExchange) {
    // One that removes very many pictures takes its time.
    link.ask(.purge(request), within: .seconds(30)) { [newest, onPurge] result in
      newest.forget()
      onPurge()
      Self.finish(
        exchange,
        PageReply.of(result).map { reply in PageAnswer.json { $0.field("removed", reply.flag("removed") ?? false) } })
    }
  }

  private func measure(_ exchange: any HTTPExchange) {
    link.ask(.stats) { [loop, link, counters] result in
      let show = { (statistics: DaemonStatistics?, origins: [Reply]) in
        let text = GatewayMetrics.text(counters(), of: statistics, origins: origins)
        exchange.answer(PageAnswer.bytes(Array(text.utf8), type: GatewayMetrics.type))
      }
      guard let reply = try? PageReply.of(result).get() else { return show(nil, []) }
      let statistics = DaemonStatistics(reply: reply, moment: loop.now)
      // The first page has every busy host, and as many sections as have room there.
      link.ask(.origins(PageRequest())) { result in
        show(statistics, (try? PageReply.of(result).get())?.objects("origins") ?? [])
      }
    }
  }

  /// Answers without the reason why the daemon does not: the reason names its socket, and anybody may ask.
  private func examine(_ exchange: any HTTPExchange) {
    link.ask(.ping, within: .seconds(2)) { result in
      guard case .success = PageReply.of(result) else {
        return exchange.answer(
          PageAnswer.refusal(GatewayError(503, "unavailable", "the daemon does not answer", isRetryable: true)))
      }
      exchange.answer(PageAnswer.json { $0.field("status", "ok") })
    }
  }
}

/// The targets of the page's requests.
enum PageRoute: String {
  case page = "/"
  case icon = "/favicon.svg"
  case events = "/events"
  case entries = "/entries"
  case entry = "/entry"
  case forms = "/forms"
  case search = "/search"
  case thumbnail = "/thumbnail"
  case preview = "/preview"
  case original = "/cached"
  case purge = "/purge"
  case metrics = "/metrics"
  case health = "/health"
  case live = "/health/live"
  case ready = "/health/ready"

  /// The methods, as `Allow` lists them.
  var methods: String { self == .purge ? "POST" : "GET, HEAD" }

  func takes(_ method: HTTPMethod) -> Bool {
    switch method {
    case .get, .head: self != .purge
    case .post: self == .purge
    case .options, .other: false
    }
  }

  /// Whether it answers everybody, and reveals nothing.
  var isOpen: Bool { self == .health || self == .live || self == .ready }

  /// Whether only the page itself has a use for the target: requests for it that another site sends are refused.
  var isForThisSiteAlone: Bool {
    switch self {
    case .page, .icon, .metrics, .health, .live, .ready: false
    case .events, .entries, .entry, .forms, .search, .thumbnail, .preview, .original, .purge: true
    }
  }
}

/// The parameters of a target of the page, such as `/search?q=example`, or of a purge.
struct PageQuery {
  private static let longest = 8_192

  private let target: RequestTarget

  init(_ target: String) { self.target = RequestTarget(target) }

  var path: String { String(target.path) }

  /// The decoded value of the only parameter that a route has.
  func value(of name: String) throws(GatewayError) -> String {
    let (given, value) = (target.query ?? "").cut(at: UInt8(ascii: "="))
    guard given == name, let value, !value.utf8.contains(UInt8(ascii: "&")) else {
      throw .badRequest("write \(path)?\(name)=VALUE, with nothing before or after it", field: name)
    }
    return try text(value, of: name)
  }

  /// The purge that `/purge?tag=news&soft=true` asks for.
  func purge() throws(GatewayError) -> PurgeRequest {
    var purge = PurgeRequest()
    var filters = 0
    for piece in (target.query ?? "").split(separator: "&", omittingEmptySubsequences: false) {
      let (name, value) = piece.cut(at: UInt8(ascii: "="))
      guard let filter = Self.filter(named: name) else {
        guard name == "soft" else { throw Self.wrongFilter("has no parameter \"\(Excerpt.of(String(name)))\"") }
        purge.soft = try ParameterValue(name: "soft", field: "soft", text: String(value ?? "")).flag()
        continue
      }
      purge[keyPath: filter] = try text(value ?? "", of: String(name))
      filters += 1
    }
    guard filters == 1 else { throw Self.wrongFilter("was given \(filters) filters") }
    return purge
  }

  private static func filter(named name: Substring) -> WritableKeyPath<PurgeRequest, String?>? {
    switch name {
    case "url": \.url
    case "tag": \.tag
    case "prefix": \.prefix
    case "host": \.host
    default: nil
    }
  }

  private static func wrongFilter(_ problem: String) -> GatewayError {
    .badRequest("/purge \(problem): it takes one of url, tag, prefix and host, and perhaps soft=true")
  }

  private func text(_ value: Substring, of name: String) throws(GatewayError) -> String {
    guard let text = PercentEncoding.text(value), !text.isEmpty else {
      throw .badRequest("the value of \(name) is empty, or not UTF-8 with well-formed escapes", field: name)
    }
    guard text.utf8.count <= Self.longest else {
      throw .badRequest("the value of \(name) is longer than \(Self.longest) bytes", field: name)
    }
    return text
  }
}

/// The daemon's answer to a request of the page.
enum PageReply {
  /// A refusal becomes an error, and so does a daemon that cannot be reached.
  static func of(_ result: Result<DaemonAnswer, ConnectionProblem>) -> Result<Reply, GatewayError> {
    switch result {
    case .success(let answer):
      answer.reply.succeeded == true ? .success(answer.reply) : .failure(refusal(in: answer.reply))
    case .failure: .failure(.unreachable)
    }
  }

  private static func refusal(in reply: Reply) -> GatewayError {
    let name = reply.errorCode ?? "internal"
    let code = ReplyCode(rawValue: name) ?? .internal
    // The page shows only what is in the cache: for the page, any other picture does not exist.
    let status = code == .notCached ? 404 : ErrorStatus.status(of: code, origin: nil)
    return GatewayError(
      status, name, reply.errorMessage ?? "the daemon gave no reason", isRetryable: reply.isRetryable)
  }
}
