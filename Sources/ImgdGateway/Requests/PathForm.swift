internal import ImgdSystem
internal import ImgdText
internal import ImgdWire

/// Reads `/signature/option/option/plain/URL`, which is how targets of imgproxy look; in place of `plain/URL` there may
/// be a URL in base64. A question mark after `plain/` belongs to the URL, and one after base64 ends the target.
struct PathForm {
  private var rest: Substring
  private var signature: String?
  private var signedText: Substring
  private var options = PathOptions()

  /// Nil if the path does not begin like that of a picture.
  static func parse(_ raw: String) throws(GatewayError) -> ParsedRequest? {
    guard isPicture(RequestTarget(raw).path) else { return nil }
    var form = PathForm(raw)
    let source = try form.readAll()
    let options = form.options
    return ParsedRequest(
      options.layers, source, options.disposition, expires: options.expires, signature: form.signature,
      signedText: form.signedText)
  }

  private static let plain = "plain"
  /// Words that stand for no signature.
  static let none = ["insecure", "unsafe", "_"]
  /// The beginnings of URLs in base64: http, and s3.
  private static let encoded = ["aHR0c", "czM6L"]

  private static func isPicture(_ path: Substring) -> Bool {
    let (start, steps) = path.cut(at: UInt8(ascii: "/"))
    guard start.isEmpty, let steps else { return false }
    let (first, after) = steps.cut(at: UInt8(ascii: "/"))
    if isStep(first) { return true }
    guard !first.isEmpty, let second = after?.cut(at: UInt8(ascii: "/")).head else { return false }
    return isStep(second) || none.contains(String(first)) || encoded.contains { second.utf8.starts(with: $0.utf8) }
  }

  /// Whether a segment is an option, or the word before the URL; any other may be a signature.
  private static func isStep(_ segment: Substring) -> Bool {
    segment == plain || segment.utf8.contains(UInt8(ascii: ":"))
  }

  private init(_ raw: String) {
    rest = raw[raw.utf8.index(after: raw.startIndex)...]
    signedText = raw[...]
    let (first, after) = rest.cut(at: UInt8(ascii: "/"))
    guard !Self.isStep(first), let after else { return }
    signature = Self.none.contains(String(first)) ? nil : String(first)
    signedText = raw[first.endIndex...]
    rest = after
  }

  private mutating func readAll() throws(GatewayError) -> SourceURL {
    while true {
      let (segment, after) = rest.cut(at: UInt8(ascii: "/"))
      if segment == Self.plain { return try plainSource(after ?? "") }
      guard segment.utf8.contains(UInt8(ascii: ":")) else { return try encodedSource(rest) }
      try options.read(segment)
      guard let after else { throw Self.noSource() }
      rest = after
    }
  }

  // MARK: The URL

  private mutating func plainSource(_ text: Substring) throws(GatewayError) -> SourceURL {
    guard !text.isEmpty else { throw Self.noSource() }
    var url = text
    if let sign = text.utf8.lastIndex(of: UInt8(ascii: "@")) {
      url = text[..<sign]
      try readFormat(text[sign...], "an @ of the URL is written %40")
    }
    guard let decoded = PercentEncoding.strictlyDecoded(url) else {
      throw Self.wrong("the URL behind \"plain/\" has a % without two hexadecimal digits; a % is written %25")
    }
    return try SourceURL(Self.withBothSlashes(decoded))
  }

  /// The URL in base64url, which may be cut by slashes.
  private mutating func encodedSource(_ text: Substring) throws(GatewayError) -> SourceURL {
    let text = text.cut(at: UInt8(ascii: "?")).head
    signedText = signedText[..<text.endIndex]
    let (url, format) = text.cut(at: UInt8(ascii: "."))
    guard !url.isEmpty, let bytes = Base64URL.bytes(url.utf8.filter { $0 != UInt8(ascii: "/") }) else {
      throw Self.wrong(
        "\"\(Excerpt.of(String(url)))\" is neither an option nor \"plain\" nor a URL in base64url; a picture's URL"
          + " follows \"plain/\"")
    }
    if format != nil { try readFormat(text[url.endIndex...], "behind a URL in base64 there is nothing else") }
    return try SourceURL(bytes)
  }

  /// Reads the format in an ending such as `@webp` or `.webp`.
  private mutating func readFormat(_ ending: Substring, _ advice: String) throws(GatewayError) {
    let word = String(ending.dropFirst())
    guard let format = WantedFormat(rawValue: word) else {
      let known = alternatives(WantedFormat.allCases.map { $0.rawValue })
      throw .badRequest(
        "\"\(Excerpt.of(String(ending)))\" at the end names no format; it takes \(known), and \(advice)",
        field: "format")
    }
    options.form.format = format
  }

  /// `https:/host` as `https://host`: some proxies merge slashes.
  private static func withBothSlashes(_ url: [UInt8]) -> [UInt8] {
    guard let colon = url.prefix(6).firstIndex(of: UInt8(ascii: ":")) else { return url }
    let slash = UInt8(ascii: "/")
    let behind = url[(colon + 1)...]
    guard behind.first == slash, behind.dropFirst().first != slash else { return url }
    return Array(url[...colon] + [slash] + behind)
  }

  private static func noSource() -> GatewayError {
    .badRequest("the path has no URL: it ends with plain/https://host/path, or with the URL in base64url", field: "url")
  }

  private static func wrong(_ message: String) -> GatewayError { GatewayError(400, "bad_url", message, field: "url") }
}

/// Base64 with the letters of URLs, padded or not.
enum Base64URL {
  /// Nil if the letters are not those of an encoder.
  static func bytes(_ letters: [UInt8]) -> [UInt8]? {
    var letters = letters
    while letters.last == UInt8(ascii: "=") { letters.removeLast() }
    guard !letters.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }) else { return nil }
    for place in letters.indices {
      switch letters[place] {
      case UInt8(ascii: "-"): letters[place] = UInt8(ascii: "+")
      case UInt8(ascii: "_"): letters[place] = UInt8(ascii: "/")
      default: break
      }
    }
    letters += [UInt8](repeating: UInt8(ascii: "="), count: (4 - letters.count % 4) % 4)
    return Base64Decoder.bytes(String(decoding: letters, as: UTF8.self))
  }
}
