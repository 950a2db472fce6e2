/// The origins whose scripts may read pictures, by the rules of the Fetch standard of the web.
package struct CrossOrigins: Sendable {
  package static let all = "*"

  /// How long a browser remembers what it may send: a day, which is more than most keep to.
  private static let remembered = 86_400
  /// Fields of requests that change the answer.
  private static let taken =
    "Accept, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range, traceparent"
  /// Fields of answers that a script would not see otherwise.
  private static let shown =
    "Accept-Ranges, Age, Cache-Status, Content-Disposition, Content-Range, ETag, Retry-After"

  private let names: Set<String>

  /// `names` are the words of `Cors=`.
  package init(_ names: [String] = []) { self.names = Set(names) }

  var isOpen: Bool { !names.isEmpty }

  private var areAll: Bool { names.contains(Self.all) }

  /// Whether answers differ by who asks.
  var differ: Bool { isOpen && !areAll }

  /// The origin that an answer to a request names, `*` for all; nil if its script may not read it.
  func permitted(_ exchange: any HTTPExchange) -> String? {
    guard differ else { return areAll ? Self.all : nil }
    let origins = exchange.fields("Origin")
    return origins.count == 1 && names.contains(origins[0]) ? origins[0] : nil
  }

  /// The fields of an answer for an origin that is permitted, and for others.
  func fields(for origin: String?) -> HTTPResponse.Fields {
    origin.map {
      [("Access-Control-Allow-Origin", $0), ("Access-Control-Expose-Headers", Self.shown)]
    } ?? []
  }

  /// The answer to a browser that asks whether a script may send a request (OPTIONS).
  func preflight(of exchange: any HTTPExchange) -> HTTPResponse {
    let permitted: HTTPResponse.Fields =
      self.permitted(exchange).map {
        [
          ("Access-Control-Allow-Origin", $0), ("Access-Control-Allow-Methods", "GET, HEAD"),
          ("Access-Control-Allow-Headers", Self.taken),
          ("Access-Control-Max-Age", String(Self.remembered)),
        ]
      } ?? []
    return HTTPResponse(
      status: 204, fields: permitted + (differ ? [("Vary", "Origin")] : []), body: .bytes([]))
  }

  /// What would be right in place of a word of `Cors=`; nil for an origin as browsers write it, and for `*`.
  package static func advice(on word: String) -> String? {
    let lower = word.lowercased()
    let (scheme, rest) = lower[...].cut(at: UInt8(ascii: ":"))
    guard word != all else { return nil }
    guard let rest, ["http", "https"].contains(scheme), let host = URLHost(of: lower) else {
      return "write origins such as https://example.org or http://localhost:3000, or *"
    }
    let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
    let port = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...].cut(
      at: UInt8(ascii: ":")
    ).rest
    let hasUsual = port == nil || port == (scheme == "http" ? "80" : "443")
    let origin = "\(scheme)://\(host.name)" + (hasUsual ? "" : ":\(port ?? "")")
    return origin == word ? nil : "write \(origin), as browsers send it"
  }
}
