internal import ImgdText
internal import ImgdWire

/// The targets that stand for pictures.
package enum PictureTarget {
  /// The request of `/fetch`, of `/info` or of a path in the form of imgproxy; nil for any other target.
  package static func parse(_ raw: String) throws(GatewayError) -> ParsedRequest? {
    switch RequestTarget(raw).path {
    case "/fetch": return try QueryForm.parse(raw, taking: PictureParameter.allCases)
    case "/info": return try QueryForm.parse(raw, taking: [.url, .expires, .signature])
    default: return try PathForm.parse(raw)
    }
  }
}

/// A target that was understood, before anything is decided about it.
package struct ParsedRequest: Equatable, Sendable {
  /// Whether it is about the facts of a picture, in place of the picture.
  var asksForFacts = false
  package let source: SourceURL
  /// What is said about the form, of which the last counts.
  let layers: [FormLayer]
  package let disposition: Disposition
  /// Nil without a signature, and for a word that stands for none.
  package let signature: String?
  /// The part of the raw target that a signature is made of.
  package let signedText: String
  /// Seconds since 1970.
  package let expires: Int?

  init(
    _ layers: [FormLayer], _ source: SourceURL, _ disposition: Disposition, expires: Int?, signature: String?,
    signedText: Substring
  ) {
    self.layers = layers
    self.source = source
    self.disposition = disposition
    self.expires = expires
    self.signature = signature
    self.signedText = String(signedText)
  }
}

/// Values of a form: those of a preset, or the target's own.
enum FormLayer: Equatable, Sendable {
  case preset(String)
  case own(WantedForm)
}

/// What a browser is told to do with a picture that is opened on its own.
package struct Disposition: Hashable, Sendable {
  /// The name under which it is saved; nil for that of the target.
  var filename: String?
  /// Whether it is saved, and not shown.
  var isAttachment = false
}

/// Reads `/fetch?url=…&width=…` and `/info?url=…`.
struct QueryForm {
  private let raw: String
  private let path: String
  private let taken: [PictureParameter]
  private var given = GivenParameters()
  private var signedText: Substring

  static func parse(_ raw: String, taking taken: [PictureParameter]) throws(GatewayError) -> ParsedRequest {
    var form = QueryForm(raw, taken)
    var rest = RequestTarget(raw).query
    if rest?.isEmpty == true { rest = nil }
    while let query = rest {
      let (piece, after) = query.cut(at: UInt8(ascii: "&"))
      try form.readParameter(piece, isLast: after == nil)
      rest = after
    }
    guard let source = form.given.source else {
      throw .badRequest("\"url\" is missing: a picture is \(form.path)?url=https%3A%2F%2Fhost%2Fpath", field: "url")
    }
    let given = form.given
    var request = ParsedRequest(
      [given.preset, .own(given.form)].compactMap { $0 }, source, given.disposition, expires: given.expires,
      signature: given.signature, signedText: form.signedText)
    request.asksForFacts = form.path == "/info"
    return request
  }

  private init(_ raw: String, _ taken: [PictureParameter]) {
    self.raw = raw
    self.taken = taken
    path = String(RequestTarget(raw).path)
    signedText = raw[...]
  }

  private mutating func readParameter(_ piece: Substring, isLast: Bool) throws(GatewayError) {
    let (name, value) = piece.cut(at: UInt8(ascii: "="))
    let parameter = try parameter(named: text(name, of: nil))
    if parameter == .signature {
      guard isLast else {
        throw .badRequest("\"signature\" is not the last parameter, and signs those before it", field: "signature")
      }
      signedText = raw[..<raw.utf8.index(before: piece.startIndex)]
    }
    let text = try text(value ?? "", of: parameter)
    try given.read(parameter, ParameterValue(name: parameter.rawValue, field: parameter.rawValue, text: text))
  }

  private func parameter(named name: String) throws(GatewayError) -> PictureParameter {
    if let parameter = PictureParameter(rawValue: name), taken.contains(parameter) { return parameter }
    let names = taken.map { $0.rawValue }
    let advice =
      nearestName(to: name, among: names).map { ": did you mean \"\($0)\"?" }
      ?? "; it has \(names.joined(separator: ", ")). An & in the URL is written %26"
    throw .badRequest("\(path) has no parameter \"\(Excerpt.of(name))\"\(advice)", field: Excerpt.of(name))
  }

  /// The text that a name or a value stands for.
  private func text(_ escaped: Substring, of parameter: PictureParameter?) throws(GatewayError) -> String {
    guard let text = PercentEncoding.text(escaped) else {
      throw .badRequest(
        "\"\(Excerpt.of(String(escaped)))\" is not text: it takes UTF-8 without NUL, a % as %25, and others as"
          + " % and two hexadecimal digits", field: parameter?.rawValue)
    }
    return text
  }
}

/// The names of the values that a target may have.
enum PictureParameter: String, CaseIterable {
  case url, width, height, fit, crop, area, background, enlarge, format, quality, dpr, preset, filename, attachment
  case expires, signature
  case maxBytes = "max_bytes"
}

/// The values of one target, each read when it is found.
struct GivenParameters {
  var form = WantedForm()
  var source: SourceURL?
  private(set) var preset: FormLayer?
  private(set) var disposition = Disposition()
  private(set) var expires: Int?
  private(set) var signature: String?
  private var names: Set<PictureParameter> = []

  /// Reads a value, unless the target had one for the parameter before.
  mutating func read(_ parameter: PictureParameter, _ value: ParameterValue) throws(GatewayError) {
    guard names.insert(parameter).inserted else {
      throw value.refusal("\"\(value.name)\" is given twice; it takes one value")
    }
    switch parameter {
    case .url: source = try SourceURL(Array(value.something("an http or https URL").utf8))
    case .width: form.width = try value.pixels()
    case .height: form.height = try value.pixels()
    case .fit: form.fit = try value.word()
    case .crop: form.crop = try value.crop()
    case .area: form.area = try value.area()
    case .background: form.background = try value.background()
    case .enlarge: form.enlarge = try value.flag()
    case .format: form.format = try value.word()
    case .quality: form.quality = try value.integer(WireLimits.quality, "a whole number from 1 to 100")
    case .maxBytes: form.mostBytes = try value.integer(1...Int.max, "a number of bytes")
    case .dpr: form.density = try value.density()
    case .preset: preset = .preset(try value.something("the name of a preset"))
    case .filename: disposition.filename = try value.filename()
    case .attachment: disposition.isAttachment = try value.flag()
    case .expires: expires = try value.integer(0...Int.max, "seconds since 1970")
    case .signature: signature = try value.something("a signature in base64url")
    }
  }
}

/// The text of one value in a target, and the name that a complaint gives it.
struct ParameterValue {
  let name: String
  /// The parameter or option of the error.
  let field: String
  let text: String

  func integer(_ range: ClosedRange<Int>, _ kind: String) throws(GatewayError) -> Int {
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }), let number = Int(text), range.contains(number) else {
      throw wrong(kind)
    }
    return number
  }

  /// A side of a picture.
  func pixels() throws(GatewayError) -> Int {
    try integer(WireLimits.side, "a whole number of pixels from 1 to \(WireLimits.side.upperBound)")
  }

  func flag() throws(GatewayError) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default: throw wrong("true or false")
    }
  }

  /// A decimal number from 1 to 8.
  func density() throws(GatewayError) -> Double {
    let wanted = "a number from 1 to 8, such as 1.5"
    let density = try decimal(wanted)
    guard 1...8 ~= density else { throw wrong(wanted) }
    return density
  }

  /// A decimal number that is not negative. Browsers write up to 17 digits.
  func decimal(_ kind: String) throws(GatewayError) -> Double {
    guard text.utf8.count <= 24, text.utf8.allSatisfy({ 48...57 ~= $0 || $0 == 46 }), let number = Double(text) else {
      throw wrong(kind)
    }
    return number
  }

  /// The name of a file, without folders.
  func filename() throws(GatewayError) -> String {
    let isName = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f && $0 != "/" && $0 != "\\" }
    guard isName, 1...255 ~= text.utf8.count else {
      throw wrong("the name of a file, of up to 255 bytes without slashes and control characters")
    }
    return text
  }

  func crop() throws(GatewayError) -> PictureForm.Crop {
    if let crop = PictureForm.Crop(text) { return crop }
    guard nearestName(to: text, among: PictureForm.Crop.words) != nil else {
      throw wrong(PictureForm.Crop.wanted)
    }
    throw wrong(among: PictureForm.Crop.words)
  }

  func area() throws(GatewayError) -> PictureForm.Area {
    do throws(NumberProblem) { return try PictureForm.Area(text) } catch {
      throw error.name.isEmpty
        ? wrong(error.wanted)
        : refusal("\"\(name)\" was \"\(Excerpt.of(text))\"; its \(error.name) takes \(error.wanted)")
    }
  }

  /// A colour, whose `#` may be left out: in a URL it would have to be escaped.
  func background() throws(GatewayError) -> PictureForm.Background {
    let colour = PictureForm.Background(text) ?? PictureForm.Background("#" + text)
    guard let colour else { throw wrong("a colour, rrggbb or rrggbbaa") }
    return colour
  }

  func word<Word: RawRepresentable<String> & CaseIterable>() throws(GatewayError) -> Word {
    guard let word = Word(rawValue: text) else { throw wrong(among: Word.allCases.map { $0.rawValue }) }
    return word
  }

  /// A text of at least one byte.
  func something(_ kind: String) throws(GatewayError) -> String {
    guard !text.isEmpty else { throw wrong(kind) }
    return text
  }

  /// A complaint with the word that was probably meant, or all of them.
  func wrong(among words: [String]) -> GatewayError {
    guard let meant = nearestName(to: text, among: words) else { return wrong(alternatives(words)) }
    return refusal("\"\(name)\" was \"\(Excerpt.of(text))\": did you mean \"\(meant)\"?")
  }

  /// A complaint with the values that would be right.
  func wrong(_ wanted: String) -> GatewayError {
    text.isEmpty
      ? refusal("\"\(name)\" is empty; it takes \(wanted)")
      : refusal("\"\(name)\" was \"\(Excerpt.of(text))\"; it takes \(wanted)")
  }

  func refusal(_ message: String) -> GatewayError { .badRequest(message, field: field) }
}

/// The target of a request as it was sent, cut at its first question mark.
package struct RequestTarget {
  package let path: Substring
  /// The text after the question mark; nil without one.
  package let query: Substring?

  package init(_ raw: String) { (path, query) = raw[...].cut(at: UInt8(ascii: "?")) }
}

extension Substring {
  /// The text before the first `byte`, which is ASCII, and the text after it, which is nil if there is no such byte.
  func cut(at byte: UInt8) -> (head: Substring, rest: Substring?) {
    guard let place = utf8.firstIndex(of: byte) else { return (self, nil) }
    return (self[..<place], self[utf8.index(after: place)...])
  }
}

extension PercentEncoding {
  /// The bytes that a text stands for; nil if a `%` is not followed by two digits.
  static func strictlyDecoded(_ text: Substring, plusIsBlank: Bool = false) -> [UInt8]? {
    guard firstBareSign(in: text) == nil else { return nil }
    let plus = plusIsBlank ? UInt8(ascii: " ") : UInt8(ascii: "+")
    return decoded(text.utf8.map { $0 == UInt8(ascii: "+") ? plus : $0 }[...])
  }

  /// The text that a name or a value of a query stands for; nil if it is not UTF-8 without NUL.
  static func text(_ escaped: Substring) -> String? {
    guard let bytes = strictlyDecoded(escaped, plusIsBlank: true), !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
