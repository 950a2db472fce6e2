/// An object whose key has characters of all kinds.
package struct OddKey: Sendable {
  /// Its URL in one of its many spellings: what need not be escaped is so now and then.
  package let url: String
  /// Where S3 would look for it: the path and the query of a request at an endpoint.
  package let place: String

  private static let parts = [
    " ", "+", "é", "e\u{301}", "()", "~", "%2F", "%", "//", "/", ".", "..", "/./", "/../", "日本", "🖼",
    "'", "!", "*", "=", "&", ";", ":", "@", "$", ",", "#", "?", "\"", "<>", "\\", "^", "`", "{|}", "[]",
    "a", "Z9", "-_", "\t", "\u{7f}", "%zz", ".png",
  ]

  /// So many of them, no two of which lie at the same place; every fourth has a query.
  package static func all(_ count: Int, in bucket: String) -> [OddKey] {
    var random = SeededGenerator(seed: 37)
    var keys: [String: OddKey] = [:]
    while keys.count < count {
      let key = (0...Int.random(in: 0..<7, using: &random))
        .map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      let query = keys.count % 4 == 0 ? "versionId=\(keys.count)/é&b&Z=~&a=1" : nil
      let spelling = spelling(of: key, using: &random)
      let odd = OddKey(
        url: "s3://\(bucket)/\(spelling)" + (query.map { "?\($0)" } ?? ""), place: place(of: key, query, in: bucket))
      keys[odd.place] = odd
    }
    return Array(keys.values)
  }

  private static func place(of key: String, _ query: String?, in bucket: String) -> String {
    let path = "/\(bucket)/" + SignatureJudge.escaped(Array(key.utf8), sparing: "/")
    let parameters = query?.split(separator: "&").map { parameter in
      parameter.split(separator: "=").map { SignatureJudge.escaped(Array($0.utf8), sparing: "") }.joined(separator: "=")
    }
    return path + (parameters.map { "?" + $0.joined(separator: "&") } ?? "")
  }

  private static func spelling(of key: String, using random: inout SeededGenerator) -> String {
    key.unicodeScalars.map { scalar in
      // What means something in a URL, what no URL has, and what JSON escapes.
      let mustBeEscaped = "%?# \t\u{7f}\"\\".unicodeScalars.contains(scalar)
      guard mustBeEscaped || Bool.random(using: &random) else { return String(scalar) }
      let isUpper = Bool.random(using: &random)
      return String(scalar).utf8.map { byte in
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: isUpper)
      }.joined()
    }.joined()
  }
}
