// The lines that every command ends with.

import ImgdCache
import ImgdPicture
import ImgdProgram
import ImgdSystem
import ImgdText
import ImgdTransfer
import ImgdWire

extension ReplyPlace {
  /// Ends a command successfully, with the fields that `content` adds.
  func reply(id: RequestID, _ content: (inout JSONWriter) -> Void) {
    write { line in
      ReplyEncoder.begin(id: id, ok: true, into: &line)
      content(&line)
      ReplyEncoder.end(into: &line)
    }
  }

  /// Ends a command with an error: with the URL of a fetch, and with the origin's answer where it is given.
  func refuse(
    id: RequestID, receipt: ReceiptID?, url: String? = nil, _ error: WireError, http head: ResponseHead? = nil
  ) {
    countError()
    write { line in
      ReplyEncoder.begin(id: id, ok: false, into: &line)
      if let receipt { line.field("receipt", receipt) }
      if let url { line.field("url", shownURL(url)) }
      ReplyEncoder.error(error, into: &line)
      if let head { line.http(status: head.status, headers: head.pairs) }
      ReplyEncoder.end(into: &line)
    }
  }

  /// Logs a change to everybody's cache, and the client that made it.
  func log(_ subject: Log.Subject, _ deed: String, _ fields: Log.Field...) {
    Log.notice(subject, "\(deed), for uid \(peer.uid), pid \(peer.pid)", fields + [.uid(peer.uid), .pid(peer.pid)])
  }
}

/// A URL as the request spelt it; one that was refused may hold a password, which is not repeated.
private func shownURL(_ url: String) -> String {
  guard url.utf8.contains(UInt8(ascii: "@")) else { return url }
  let isGood = (try? CanonicalURL.parse(url)) != nil
  return isGood ? url : withoutUserInfo(url)
}

extension JSONWriter {
  /// Numbers under their names, in this order.
  mutating func fields(_ numbers: KeyValuePairs<StaticString, Int>) {
    for (name, number) in numbers { field(name, number) }
  }

  mutating func http(status: Int, headers: HeaderList) {
    object("http") { line in
      line.field("status", status)
      line.object("headers") { line in
        for header in headers {
          line.name(header.name)
          line.value(header.value)
        }
      }
    }
  }
}

extension ReplyPlace {
  /// The number after which a page of a list begins, `beginning` without a cursor. Nil for a cursor that no answer can
  /// have had, which is refused.
  func start(
    of page: PageRequest, for command: Request.Command, id: RequestID, from beginning: UInt64 = 0,
    upTo last: UInt64 = .max
  ) -> UInt64? {
    guard let text = page.cursor else { return beginning }
    if let cursor = UInt64(text), cursor <= last { return cursor }
    refuse(id: id, receipt: nil, .badCursor(text, of: command))
    return nil
  }
}

/// An answer with a list, made in steps and written when it is whole: other lines must not come between.
///
/// It ends with a cursor where it would be longer than what a client may leave unread.
final class ListAnswer {
  private let client: ReplyPlace
  private let mostBytes: Int
  private var line = JSONWriter()
  private var left: Int

  init(_ name: StaticString, of page: PageRequest, id: RequestID, to client: ReplyPlace) {
    self.client = client
    mostBytes = client.limits.unsentOutput
    left = page.limit
    ReplyEncoder.begin(id: id, ok: true, into: &line)
    line.beginArray(name)
  }

  var room: Int { line.bytes.count < mostBytes ? left : 0 }

  func add(_ describe: (inout JSONWriter) -> Void) {
    left -= 1
    line.object(describe)
  }

  /// Writes the answer; `cursor` is where the next page begins, nil at the end of the list, and `further` adds fields.
  func finish(cursor: String?, further: (inout JSONWriter) -> Void = { _ in }) {
    line.endArray()
    line.field("cursor", cursor)
    further(&line)
    ReplyEncoder.end(into: &line)
    client.write { [line] in $0.bytes.append(contentsOf: line.bytes) }
  }
}

// The errors with which the daemon itself answers, with the wrong value and what would be right.

extension WireError {
  static let shuttingDown = WireError(
    .shuttingDown, "the daemon is stopping and accepts no new requests: connect again in a moment")

  /// The same error, answered from the cache without asking the origin.
  func asCached(age: Int, isStale: Bool = false) -> WireError {
    var details = details + [.init("cached", true), .init("age", .integer(Int64(age)))]
    if isStale { details.append(.init("stale", true)) }
    return WireError(code, message, details: details, retryable: isRetryable)
  }

  /// The same error, for a fetch that had a stored picture to be confirmed.
  var asOffered: WireError {
    WireError(code, message, details: details + [.init("offered", true)], retryable: isRetryable)
  }

  static let confirmedForClient = WireError(
    .httpStatus, "the origin answered 304 to a conditional header of the request, and sent no picture",
    details: ["status": 304])

  static func of(_ problem: URLProblem) -> WireError {
    switch problem {
    case .bad(let reason): WireError(.badURL, reason)
    case .blockedScheme(let scheme):
      WireError(.blockedScheme, "the scheme \(scheme) is not supported: write http:// or https://")
    }
  }

  static let keptAsPixels = WireError(
    .unavailable,
    "the fetch was for pixels, and its outcome is kept as such: wait with deliver pixels or none, "
      + "or fetch the picture in another form")

  static let bytesAreGone = WireError(
    .notCached, "the picture was confirmed, but its bytes are no longer cached: fetch it anew")

  static func duplicate(_ receipt: ReceiptID) -> WireError {
    WireError(.duplicateReceipt, "the receipt \(receipt) belongs to a fetch that has not ended: choose a new UUID")
  }

  static func takenByAnother(_ receipt: ReceiptID) -> WireError {
    WireError(.duplicateReceipt, "the receipt \(receipt) belongs to a fetch of another user: choose a new UUID")
  }

  static func unknown(_ receipt: ReceiptID) -> WireError {
    WireError(
      .unknownReceipt,
      "there is no fetch with the receipt \(receipt): outcomes are kept for ten minutes, "
        + "and only for fetches with \"wait\":false or \"detach\":true")
  }

  static func notYours(_ receipt: ReceiptID) -> WireError {
    WireError(
      .forbidden, "the fetch \(receipt) belongs to another user: only that user and administrators may access it")
  }

  static func onlyForAdmins(_ matter: String) -> WireError {
    WireError(
      .forbidden,
      "\(matter): only administrators may ask for that, who are root, the daemon's user and those whom "
        + "Control.Admins names")
  }

  static let notAllowed = WireError(
    .forbidden, "this user may not connect: Control.Allow names neither it nor one of its groups")

  static func tooManyReceipts(limit: Int) -> WireError {
    WireError(
      .tooManyRequests, "this connection has \(limit) fetches under way, which is the limit: wait for answers",
      details: ["limit": .integer(Int64(limit)), "of": .string(LimitScope.connection.rawValue)])
  }

  static func tooManyRequestBytes(limit: Int, of scope: LimitScope) -> WireError {
    WireError(
      .tooManyRequests, "the fetches under way \(scope.words) hold the \(limit) bytes that they may: wait for answers",
      details: ["limit": .integer(Int64(limit)), "of": .string(scope.rawValue)])
  }

  static func tooManyQueued(limit: Int) -> WireError {
    WireError(
      .tooManyRequests, "this user has \(limit) fetches under way, which is the limit: wait for answers",
      details: ["limit": .integer(Int64(limit)), "of": .string(LimitScope.user.rawValue)])
  }

  static func queueFull(limit: Int) -> WireError {
    WireError(
      .queueFull, "\(limit) fetches are under way, which is the limit: try again later",
      details: ["limit": .integer(Int64(limit))])
  }

  static func tooManyConnections(limit: Int, of scope: LimitScope) -> WireError {
    let whose = scope == .user ? "this user has" : "there are"
    return WireError(
      .tooManyRequests, "\(whose) \(limit) connections, which is the limit: close one, or try again later",
      details: ["limit": .integer(Int64(limit)), "of": .string(scope.rawValue)])
  }

  static func noDescriptorLeft(connections: Int) -> WireError {
    WireError(
      .tooManyRequests, "the daemon has no descriptors left (there are \(connections) connections): try again later",
      details: ["limit": .integer(Int64(connections))])
  }

  static let tooManyHanded = WireError(
    .badRequest, "several descriptors came with the line, and a request takes one: send each with a line of its own")

  static func lineTooLong(limit: Int) -> WireError {
    WireError(
      .lineTooLong, "the line is longer than the limit of \(limit) bytes, and was skipped",
      details: ["limit": .integer(Int64(limit))])
  }

  static func notCached(_ url: String, _ mode: CacheMode) -> WireError {
    WireError(.notCached, "\(url) is not in the cache, and \(mode.rawValue) does not ask the origin")
  }

  static func tooManyRedirects(limit: Int) -> WireError {
    WireError(.tooManyRedirects, "more than \(limit) redirects", details: ["limit": .integer(Int64(limit))])
  }

  static func badRedirect(from host: String, _ problem: URLProblem) -> WireError {
    let error = WireError.of(problem)
    return WireError(error.code, "\(host) redirects to something else: \(error.message)")
  }

  static func tooLarge(limit: Int) -> WireError {
    WireError(
      .tooLarge, "the body is larger than the \(limit) bytes that the request allows",
      details: ["limit": .integer(Int64(limit))])
  }

  static func tooLargeInline(_ bytes: Int, limit: Int) -> WireError {
    WireError(
      .tooLargeInline,
      "the picture has \(bytes) bytes, and inline carries at most \(limit): " + "ask again with deliver fd",
      details: ["bytes": .integer(Int64(bytes)), "limit": .integer(Int64(limit))])
  }

  static func cancelled(supersededBy receipt: ReceiptID? = nil) -> WireError {
    guard let receipt else { return WireError(.cancelled, "the fetch was cancelled") }
    return WireError(.cancelled, "a newer fetch took the slot", details: ["superseded_by": .string("\(receipt)")])
  }

  static func notAnImage(_ reason: NotAPicture) -> WireError {
    WireError(.notAnImage, "the body is not a picture: \(reason.reason)")
  }

  static func unsupported(_ picture: PictureMeasures, accepted: [AcceptedType]) -> WireError {
    guard picture.format != .svg else {
      return WireError(
        .notAnImage, "the body is not a picture: an SVG drawing, which Downloads.AcceptTypes does not name")
    }
    let names = accepted.map(\.rawValue).joined(separator: " ")
    return WireError(.unsupportedFormat, "the picture is \(picture.format.name); Downloads.AcceptTypes allows \(names)")
  }

  static func badConfiguration(_ problems: ConfigurationProblems) -> WireError {
    WireError(
      .badRequest, "nothing was changed: \(problems.summary)",
      details: ["mistakes": .array(problems.lines.map { .string($0) })])
  }

  fileprivate static func badCursor(_ cursor: String, of command: Request.Command) -> WireError {
    WireError(
      .badRequest,
      "\"cursor\" was \"\(Excerpt.of(cursor))\"; "
        + "it takes the cursor of an earlier answer to \"\(command.rawValue)\"", details: ["field": .string("cursor")])
  }

  static func unrecordedPurge(_ reason: String, isFull: Bool) -> WireError {
    WireError(
      isFull ? .diskFull : .unavailable,
      "the purge is in force, but it could be written down nowhere, and a kill of the daemon would "
        + "undo it: \(reason); send it again when the disk can be written")
  }

  static func noDescriptor(_ failure: SystemFailure) -> WireError {
    WireError(.unavailable, "the daemon cannot open a descriptor now: \(failure.description)")
  }
}

/// Whose limit was reached.
enum LimitScope: String {
  case connection, user, daemon

  fileprivate var words: String {
    switch self {
    case .connection: "of this connection"
    case .user: "of this user"
    case .daemon: "of all users"
    }
  }
}
