/// The directives of `Cache-Control` that a shared cache minds; everything else is passed over.
struct CacheControl: Equatable {
  var maxAge: Int64?
  var sharedMaxAge: Int64?
  var noStore = false
  var noCache = false
  var isPrivate = false
  var mustRevalidate = false

  private static let longest = Int64(Int32.max)

  init(_ value: String?) {
    for directive in Self.split(value ?? "") { take(directive) }
  }

  private mutating func take(_ directive: String) {
    let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let argument = parts.count > 1 ? Self.unquoted(String(parts[1])) : nil
    switch Self.trimmed(String(parts[0])).lowercased() {
    case "max-age": maxAge = Self.sooner(maxAge, argument)
    case "s-maxage": sharedMaxAge = Self.sooner(sharedMaxAge, argument)
    case "no-store": noStore = true
    // With field names it speaks of these fields alone.
    case "no-cache": noCache = noCache || argument == nil
    case "private": isPrivate = isPrivate || argument == nil
    case "must-revalidate", "proxy-revalidate": mustRevalidate = true
    default: break
    }
  }

  /// Of a directive that is there twice the stricter holds; a value that is none means stale.
  private static func sooner(_ known: Int64?, _ argument: String?) -> Int64 {
    min(known ?? .max, seconds(argument ?? ""))
  }

  static func seconds(_ text: String) -> Int64 {
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return 0 }
    return min(Int64(text) ?? longest, longest)
  }

  /// At commas that are not in quotes.
  private static func split(_ value: String) -> [String] {
    var parts: [String] = []
    var part: [UInt8] = []
    var isQuoted = false
    for byte in value.utf8 {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if byte == UInt8(ascii: ","), !isQuoted {
        parts.append(String(decoding: part, as: UTF8.self))
        part = []
      } else {
        part.append(byte)
      }
    }
    return parts + [String(decoding: part, as: UTF8.self)]
  }

  private static func unquoted(_ text: String) -> String {
    let text = trimmed(text)
    guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
    return String(text.dropFirst().dropLast())
  }

  static func trimmed(_ text: String) -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let start = text.drop(while: isSpace)
    return String(start.reversed().drop(while: isSpace).reversed())
  }
}
