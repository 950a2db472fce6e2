internal import ImgdText

/// The Cache-Control fields of an answer, as far as they matter to a cache that many share.
///
/// Unknown directives are ignored. An invalid number counts as 0, so that what cannot be understood is stale (RFC
/// 9111, 4.2.1); of a directive that comes twice the smaller number counts. A directive that forbids something counts
/// in any form, one that permits something only in its proper form (`CacheDirective`). `private` and `no-cache` apply
/// to the whole answer even if they name single fields, as RFC 9111 allows (5.2.2.4, 5.2.2.7).
struct CacheControl: Equatable {
  /// The largest number of seconds that means anything (RFC 9111, 1.2.2).
  static let longest: Int64 = 1 << 31

  var maxAge: Int64?
  var sharedMaxAge: Int64?
  var staleWhileRevalidate: Int64?
  var staleIfError: Int64?
  var noStore = false
  var noCache = false
  var isPrivate = false
  var isPublic = false
  var mustRevalidate = false
  var proxyRevalidate = false
  var mustUnderstand = false
  var isImmutable = false
  /// Whether there was any such field, whatever it said.
  var isPresent = false

  init(_ headers: HeaderList) {
    for (name, value) in headers where name == "cache-control" {
      isPresent = true
      CacheDirective.each(of: value) { set($0) }
    }
    guard !isPresent else { return }
    noCache = headers.contains { $0.name == "pragma" && Self.asksToConfirm(pragma: $0.value) }
  }

  private static func asksToConfirm(pragma: String) -> Bool {
    var asks = false
    CacheDirective.each(of: pragma) { asks = asks || $0.name == "no-cache" }
    return asks
  }

  private mutating func set(_ directive: CacheDirective) {
    switch directive.name {
    case "max-age": Self.lower(&maxAge, to: directive)
    case "s-maxage": Self.lower(&sharedMaxAge, to: directive)
    case "stale-while-revalidate": Self.lower(&staleWhileRevalidate, to: directive)
    case "stale-if-error": Self.lower(&staleIfError, to: directive)
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "private": isPrivate = true
    case "must-revalidate": mustRevalidate = true
    case "proxy-revalidate": proxyRevalidate = true
    case "public": isPublic = isPublic || directive.isPlain
    case "must-understand": mustUnderstand = mustUnderstand || directive.isPlain
    case "immutable": isImmutable = isImmutable || directive.isPlain
    default: break
    }
  }

  private static func lower(_ seconds: inout Int64?, to directive: CacheDirective) {
    seconds = min(seconds ?? longest, directive.seconds)
  }

  /// A number of seconds, at least 0 and at most `longest`; nil for a text that is not a number.
  static func seconds(_ text: String?) -> Int64? {
    guard var digits = text?.utf8[...] else { return nil }
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    guard !digits.isEmpty, digits.allSatisfy({ decimalValue($0) != nil }) else { return nil }
    guard !isNegative else { return 0 }
    return digits.reduce(0) { min($0 * 10 + Int64(decimalValue($1) ?? 0), longest) }
  }

  /// The final statuses of RFC 9110 whose rules for caching are followed here. 206 is missing, since its rules
  /// are about parts, and so is 304, which is not an answer of its own.
  private static let understood = Set([200...205, 300...303, 307...308, 400...417, 421...422, 500...505].joined())
    .union([305, 426])

  /// Whether an answer with this status must not be stored.
  ///
  /// An origin sends `must-understand, no-store` to caches that know the status and to those that
  /// do not: a cache that knows it ignores the second (RFC 9111, 5.2.2.3).
  func forbidsStoring(_ status: Int, isScoped: Bool) -> Bool {
    if isPrivate && !isScoped { return true }
    return mustUnderstand ? !Self.understood.contains(status) : noStore
  }

  /// Whether no request may prolong the lifetime, since the origin has forbidden showing the answer
  /// unconfirmed after its end (RFC 9111, 5.2.2.2, 5.2.2.8).
  func bindsLifetime(isScoped: Bool) -> Bool { mustRevalidate || (!isScoped && proxyRevalidate) }

  /// Whether a stale answer must never be shown unconfirmed (RFC 9111, 5.2.2.2, 5.2.2.8, 5.2.2.10).
  func forbidsStale(isScoped: Bool) -> Bool { bindsLifetime(isScoped: isScoped) || (!isScoped && sharedMaxAge != nil) }
}

/// One member of Cache-Control or Pragma, read so that a malformed one may forbid but never permits.
///
/// A directive that forbids something counts as soon as its name can be read. What it permits depends on its
/// argument, which is invalid if anything follows that the grammar does not allow, and in everything
/// after a quoted string without an end (RFC 9111, 4.2.1 and 5.2).
struct CacheDirective {
  enum Argument: Equatable {
    case none
    case text(String)
    case invalid
  }

  /// In lower case.
  let name: String
  let argument: Argument

  /// Nil for a member that does not begin with a name.
  private init?(_ scanner: inout FieldScanner) {
    scanner.skipBlanks()
    guard let name = scanner.takeToken() else { return nil }
    self.name = name
    let hasArgument = scanner.takeByte(UInt8(ascii: "="))
    let text = hasArgument ? scanner.takeQuoted() ?? scanner.takeToken() : nil
    if scanner.isTorn || !scanner.isAtEndOfMember {
      argument = .invalid
    } else {
      argument = hasArgument ? text.map(Argument.text) ?? .invalid : .none
    }
  }

  static func each(of value: String, _ visit: (CacheDirective) -> Void) {
    var scanner = FieldScanner(value)
    repeat { if let directive = CacheDirective(&scanner) { visit(directive) } } while scanner.nextMember()
  }

  var seconds: Int64 {
    guard case .text(let text) = argument else { return 0 }
    return CacheControl.seconds(text) ?? 0
  }

  /// Whether it is written without an argument: only then do directives that have none permit anything.
  var isPlain: Bool { argument == .none }
}

/// The rule by which an answer to a request with credentials may be shown to everybody (RFC 9111, 3.5).
///
/// What was fetched with `Authorization` may be shown to others if its origin says so with `public`, `s-maxage` or
/// `must-revalidate`. HTTP has no such rule for cookies, which are in nearly every request of a browser: here only
/// `public` shares them. With a service's own credentials, no origin can be expected to know what such a word grants.
package enum CredentialSharing: Sendable, Equatable {
  case authorization
  case cookies

  /// Chooses the rule by the lower-case names of a request's credentials; nil if one of them is never shared.
  package init?(_ names: Set<String>) {
    guard !names.isEmpty, names.isSubset(of: ["authorization", "cookie"]) else { return nil }
    self = names.contains("cookie") ? .cookies : .authorization
  }

  /// Whether an answer may be shown to all who ask.
  ///
  /// `private` outweighs every word beside it. An answer that varies with credentials fits nobody else's request.
  package func admits(_ headers: HeaderList) -> Bool {
    let control = CacheControl(headers)
    guard !control.isPrivate, Set(varyingNames(headers)).isDisjoint(with: ["*", "authorization", "cookie"]) else {
      return false
    }
    switch self {
    case .authorization: return control.isPublic || control.sharedMaxAge != nil || control.mustRevalidate
    case .cookies: return control.isPublic
    }
  }
}
