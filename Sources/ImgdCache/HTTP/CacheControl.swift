/// What an answer's Cache-Control fields say, as far as a cache that many share has to know.
///
/// Unknown and malformed directives count as not written. A directive that comes twice counts with
/// its smaller number. The forms of `private` and `no-cache` that name single fields are taken for
/// the whole answer, as RFC 9111 allows.
struct CacheControl: Equatable {
  /// The largest number of seconds that means anything (RFC 9111, 1.2.2).
  static let longest: Int64 = 1 << 31

  var maxAge: Int64?
  var sharedMaxAge: Int64?
  var noStore = false
  var noCache = false
  var isPrivate = false
  var isPublic = false
  var mustRevalidate = false
  var isImmutable = false
  /// Whether any field was there, whatever it said.
  var isPresent = false

  init(_ headers: HeaderList) {
    for (name, value) in headers where name == "cache-control" {
      isPresent = true
      read(value)
    }
    let asksOldWay = headers.contains { name, value in
      name == "pragma" && value.lowercased() == "no-cache"
    }
    if !isPresent, asksOldWay { noCache = true }
  }

  private mutating func read(_ value: String) {
    var scanner = FieldScanner(value)
    repeat {
      scanner.skipBlanks()
      guard let directive = scanner.takeToken() else { continue }
      let hasArgument = scanner.take(UInt8(ascii: "="))
      set(directive, hasArgument ? scanner.takeQuoted() ?? scanner.takeArgument() : nil)
    } while scanner.nextMember()
  }

  private mutating func set(_ directive: String, _ argument: String?) {
    switch directive {
    case "max-age": maxAge = Self.smaller(maxAge, Self.seconds(argument))
    case "s-maxage": sharedMaxAge = Self.smaller(sharedMaxAge, Self.seconds(argument))
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "private": isPrivate = true
    case "public": isPublic = true
    case "must-revalidate", "proxy-revalidate": mustRevalidate = true
    case "immutable": isImmutable = true
    default: break
    }
  }

  private static func smaller(_ left: Int64?, _ right: Int64?) -> Int64? {
    guard let left, let right else { return left ?? right }
    return min(left, right)
  }

  /// A number of seconds: below zero is 0, too large for any clock is the largest.
  static func seconds(_ text: String?) -> Int64? {
    guard var digits = text?.utf8[...] else { return nil }
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    guard !digits.isEmpty, digits.allSatisfy({ decimalValue($0) != nil }) else { return nil }
    guard !isNegative else { return 0 }
    return digits.reduce(0) { min($0 * 10 + Int64(decimalValue($1) ?? 0), longest) }
  }
}
