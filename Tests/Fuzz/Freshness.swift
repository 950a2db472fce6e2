@testable import ImgdCache
@testable import ImgdSystem
@testable import ImgdText

extension FuzzTarget {
  /// The judgement on an answer, against a second one that goes by the tables of docs/http.md. The input chooses a
  /// status, directives with their arguments, times and what the request says.
  static let freshness = FuzzTarget("freshness", of: ["ImgdCache/HTTP/Freshness.swift"], longest: 64) { bytes in
    var choices = Choices(bytes)
    let answer = PlannedAnswer(&choices)
    let judged = Freshness(
      status: answer.status, headers: answer.headers, rules: answer.rules, terms: answer.terms,
      receivedAt: answer.receivedAt, delay: .seconds(answer.delay))
    let wanted = SecondJudgement(answer)
    expect(judged.initialAge == .seconds(wanted.age), "the age on arrival")
    expect(judged.remaining == .seconds(wanted.remaining), "the time that is left")
    expect((judged.refusal == nil) == wanted.isKept, "whether it is kept")
    expect(judged.needsConfirmation == wanted.needsConfirmation, "whether the origin is always asked")
    expect(judged.mustRevalidate == wanted.isBound, "whether it may be shown stale")
    expect(judged.isOpenOnlyWhileFresh == wanted.isClosed, "whether it is anybody's when it is stale")
    expect(judged.isImmutable == answer.has("immutable"), "whether it never changes")
    expect(judged.staleWhileRevalidate == .seconds(wanted.whileRevalidate), "how long it is shown meanwhile")
    expect(judged.staleIfError == wanted.ifError.map { .seconds($0) }, "how long it stands in")
  }
}

/// An answer of which is known what its header fields say.
private struct PlannedAnswer {
  /// A directive with what its argument says: nil for none, and for one that counts as 0.
  typealias Directive = (name: String, seconds: Int64?, isPlain: Bool)

  let status: Int
  private(set) var directives: [Directive] = []
  /// Nil without the field, and for one that is no date.
  private(set) var date: Int64?
  private(set) var lastModified: Int64?
  private(set) var expires: Int64?
  private(set) var hasExpires = false
  private(set) var age: Int64?
  private(set) var hasPragma = false
  private(set) var varies = false
  private(set) var headers: HeaderList = []
  let receivedAt: Int64
  let delay: Int64
  var rules = FreshnessRules()
  var terms = FreshnessTerms()

  private static let statuses = [
    200, 203, 204, 206, 300, 301, 302, 303, 304, 307, 308, 404, 405, 410, 414, 418, 500, 501, 503, 599, 199, 226,
  ]
  private static let names = [
    "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error", "no-store", "no-cache", "private", "public",
    "must-revalidate", "proxy-revalidate", "must-understand", "immutable", "no-transform",
  ]
  private static let times: [Int64] = [0, 1, 59, 60, 3_600, 86_400, 700_000, 10_000_000]

  init(_ choices: inout Choices) {
    status = choices.pick(Self.statuses)
    receivedAt = 1_700_000_000 + Int64(choices.byte()) * 3_600
    delay = Self.times[Int(choices.byte()) % 4]
    let flags = choices.number(UInt16.self)
    if flags & 1 != 0 { terms.ttl = .seconds(choices.pick(Self.times)) }
    if flags & 2 != 0 { terms.silence = .seconds(choices.pick(Self.times)) }
    if flags & 4 != 0 { terms.floor = .seconds(choices.pick(Self.times)) }
    terms.isScoped = flags & 8 != 0
    terms.isOpenedByCredentials = flags & 16 != 0
    rules.heuristicPercent = Int(choices.byte()) - 20
    rules.longestTTL = .seconds(choices.pick(Self.times))
    if flags & 32 != 0 { date = addDate("date", &choices) }
    if flags & 64 != 0 { lastModified = addDate("last-modified", &choices) }
    if flags & 128 != 0 {
      expires = addDate("expires", &choices)
      hasExpires = true
    }
    if flags & 256 != 0 { addAge(&choices) }
    if flags & 512 != 0 {
      headers.append(("pragma", "x, no-cache"))
      hasPragma = true
    }
    if flags & 1024 != 0 {
      headers.append(("vary", "accept , *"))
      varies = true
    }
    while !choices.isAtEnd, directives.count < 8 { addDirective(&choices) }
  }

  func has(_ name: String) -> Bool {
    let isPlainOnly = ["public", "immutable", "must-understand"].contains(name)
    return directives.contains { $0.name == name && (!isPlainOnly || $0.isPlain) }
  }

  /// The smallest number of a directive; nil without it.
  func seconds(_ name: String) -> Int64? { directives.filter { $0.name == name }.map { $0.seconds ?? 0 }.min() }

  private mutating func addDate(_ name: String, _ choices: inout Choices) -> Int64? {
    let kind = choices.byte()
    let moment = receivedAt + (kind & 1 == 0 ? -1 : 1) * choices.pick(Self.times)
    switch kind >> 1 & 7 {
    case 0:
      headers.append((name, "0"))
      return nil
    case 1:
      headers += [(name, HTTPDate.text(moment)), (name, HTTPDate.text(moment))]
      return nil
    default:
      headers.append((name, HTTPDate.text(moment).uppercased()))
      return moment
    }
  }

  private mutating func addAge(_ choices: inout Choices) {
    let seconds = choices.pick(Self.times)
    switch choices.byte() & 3 {
    case 0: headers.append(("age", "-\(seconds)"))
    case 1: headers.append(("age", "\(seconds).5"))
    case 2:
      headers += [("age", "\(seconds), 5"), ("age", "9")]
      age = seconds
    default:
      headers.append(("age", " \(seconds)00000000000 "))
      age = seconds == 0 ? 0 : 1 << 31
    }
  }

  private mutating func addDirective(_ choices: inout Choices) {
    let (name, form) = (choices.pick(Self.names), choices.byte())
    let seconds = choices.pick(Self.times)
    let (text, said): (String, Directive) =
      switch form % 9 {
      case 0: (name, (name, nil, true))
      case 1: ("\(name)=\(seconds)", (name, seconds, false))
      case 2: ("\(name)=\"\(seconds)\"", (name, seconds, false))
      case 3: ("\(name)= \(seconds)", (name, nil, false))
      case 4: ("\(name)=\(seconds)s", (name, nil, false))
      case 5: ("\(name)=99999999999999999999", (name, 1 << 31, false))
      case 6: ("\(name);x", (name, nil, false))
      case 7: ("\(name)=", (name, nil, false))
      default: ("\(name)=-\(seconds)", (name, nil, false))
      }
    directives.append(said)
    let spelling = form & 128 == 0 ? text : text.uppercased()
    if form & 64 == 0, let last = headers.last, last.name == "cache-control" {
      headers[headers.count - 1].value = last.value + " ,, " + spelling
    } else {
      headers.append(("cache-control", spelling))
    }
  }
}

/// RFC 9111, 3, 4.2 and 5.2, and what docs/http.md says beyond them, rule by rule.
private struct SecondJudgement {
  let age: Int64
  private(set) var remaining: Int64
  let isKept: Bool
  let needsConfirmation: Bool
  let isBound: Bool
  let isClosed: Bool
  let whileRevalidate: Int64
  let ifError: Int64?

  init(_ answer: PlannedAnswer) {
    let (terms, isShared) = (answer.terms, !answer.terms.isScoped)
    func whole(_ duration: Duration?) -> Int64? { duration.map { $0.components.seconds } }
    let sent = answer.date ?? answer.receivedAt
    age = max(0, answer.receivedAt - sent, min((answer.age ?? 0) + answer.delay, 1 << 31))

    // 4.2.1, in the order of a cache that is shared, or of one that is not.
    var expires = answer.expires.map { max(0, $0 - sent) }
    if answer.hasExpires, expires == nil { expires = 0 }
    let own = answer.seconds("max-age") ?? expires
    let explicit = isShared ? answer.seconds("s-maxage") ?? own : own ?? answer.seconds("s-maxage")
    let percent = Int64(min(max(answer.rules.heuristicPercent, 0), 100))
    let guess = answer.lastModified.map { min(max(0, sent - $0) * percent / 100, 7 * 86_400) }
    let lifetime = explicit ?? whole(terms.silence) ?? guess ?? 3_600
    let granted = lifetime - age

    // 3.5, 5.2.2.2, 5.2.2.8 and 5.2.2.10.
    isClosed = terms.isOpenedByCredentials && isShared && !answer.has("public")
    let bindsLifetime = answer.has("must-revalidate") || isShared && answer.has("proxy-revalidate") || isClosed
    isBound = bindsLifetime || isShared && answer.seconds("s-maxage") != nil
    remaining = granted
    if let ttl = whole(terms.ttl) {
      let asked = min(ttl, whole(answer.rules.longestTTL) ?? 0)
      remaining = bindsLifetime ? min(asked, granted) : asked
    }
    let mayBeExtended = !isClosed && !answer.has("private")
    if mayBeExtended, let floor = whole(terms.floor) { remaining = max(remaining, floor) }

    let saysNoCache = answer.has("no-cache") || answer.directives.isEmpty && answer.hasPragma
    needsConfirmation = saysNoCache && !(mayBeExtended && terms.floor != nil)
    let isNeverStale = isBound || needsConfirmation
    whileRevalidate = isNeverStale ? 0 : answer.seconds("stale-while-revalidate") ?? 0
    ifError = isNeverStale ? 0 : answer.seconds("stale-if-error")
    isKept = Self.isKept(answer, hasLifetime: explicit != nil)
  }

  /// Section 3.
  private static func isKept(_ answer: PlannedAnswer, hasLifetime: Bool) -> Bool {
    let isShared = !answer.terms.isScoped
    let known: Set = [
      200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 500, 501, 503,
    ]
    if answer.status < 200 || [206, 304].contains(answer.status) || answer.varies { return false }
    if answer.has("private"), isShared { return false }
    if answer.has("must-understand") {
      if !known.contains(answer.status) { return false }
    } else if answer.has("no-store") {
      return false
    }
    let isRedirect = answer.status / 100 == 3
    let hasReason =
      hasLifetime || answer.has("public") || answer.has("private") && !isShared
      || answer.terms.ttl != nil && isRedirect
    return hasReason || [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(answer.status)
  }
}
