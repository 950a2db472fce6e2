internal import ImgdText
internal import ImgdWire

/// The conditions of a request, in the order of RFC 9110, 13.2.2.
struct Conditions {
  /// What becomes of the request.
  enum Verdict: Equatable {
    case goesOn
    /// 304
    case isKnown
    /// 412
    case failed
  }

  private let fields: (String) -> [String]
  private let now: Int64

  /// `now` is wall time in seconds.
  init(of exchange: any HTTPExchange, now: Int64) {
    fields = exchange.fields
    self.now = now
  }

  func verdict(on facts: PictureFacts) -> Verdict {
    guard isPresent(facts) else { return .failed }
    return isKnown(facts) ? .isKnown : .goesOn
  }

  /// If-Match, and without it If-Unmodified-Since.
  private func isPresent(_ facts: PictureFacts) -> Bool {
    let lists = fields("If-Match")
    guard lists.isEmpty else { return has(facts, lists) { $0.isStrongly(in: $1) } }
    guard let modified = facts.modified, let date = date("If-Unmodified-Since") else { return true }
    return modified <= date
  }

  /// If-None-Match, and without it If-Modified-Since.
  private func isKnown(_ facts: PictureFacts) -> Bool {
    let lists = fields("If-None-Match")
    guard lists.isEmpty else { return has(facts, lists) { $0.isIn($1) } }
    guard let modified = facts.modified, let date = date("If-Modified-Since") else { return false }
    return modified <= date
  }

  /// Whether one of the lists names the picture; false if any of them is not a list of tags.
  private func has(_ facts: PictureFacts, _ lists: [String], _ isNamed: (EntityTag, String) -> Bool?) -> Bool {
    if lists.count == 1, isStar(lists[0]) { return true }
    guard let tag = facts.tag.flatMap({ EntityTag($0) }) else { return false }
    let findings = lists.map { isNamed(tag, $0) }
    return findings.contains(true) && !findings.contains(nil)
  }

  /// Whether a part may be sent (If-Range): the client has the rest of this very picture.
  func permitsPart(of facts: PictureFacts) -> Bool {
    let values = fields("If-Range")
    guard let value = values.first else { return true }
    guard values.count == 1 else { return false }
    if let tag = facts.tag.flatMap({ EntityTag($0) }), tag.isStrongly(in: value) == true { return true }
    // Two pictures may share a date in this second.
    guard let modified = facts.modified, modified < now else { return false }
    return HTTPDate.parse(value, now: now) == modified
  }

  /// A date; nil for none, for more than one, and for any other text.
  private func date(_ name: String) -> Int64? {
    let values = fields(name)
    return values.count == 1 ? HTTPDate.parse(values[0], now: now) : nil
  }

  private func isStar(_ text: String) -> Bool { text.utf8.filter { $0 != 0x20 && $0 != 0x09 }.elementsEqual("*".utf8) }
}

/// The part of a picture that a request asks for (RFC 9110, 14.2).
enum ByteRange: Equatable {
  /// There is no such part, or the picture is not served in parts.
  case whole
  case part(Range<Int>)
  /// The part begins after the end.
  case unsatisfiable

  /// Reads the values of `Range`; one part is served, several at once are not.
  init(_ values: [String], of count: Int) {
    self = values.count == 1 ? Self.read(values[0], of: count) ?? .whole : .whole
  }

  /// `bytes=0-499`, `bytes=500-` or `bytes=-500`; nil for anything else.
  private static func read(_ text: String, of count: Int) -> ByteRange? {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    guard !ends[0].isEmpty else {
      guard let length = number(ends[1]) else { return nil }
      return length > 0 ? .part(count - min(length, count)..<count) : .unsatisfiable
    }
    let last = ends[1].isEmpty ? Int.max : number(ends[1])
    guard let first = number(ends[0]), let last, last >= first else { return nil }
    return first < count ? .part(first..<min(last, count - 1) + 1) : .unsatisfiable
  }

  /// Digits and nothing else; a number that is too large becomes the largest there is.
  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int(text) ?? .max
  }
}

/// The formats that a client takes beyond those that every client takes (RFC 9110, 12.5.1).
struct AcceptedFormats {
  /// Further members are ignored.
  private static let most = 128

  /// The weights of formats by their names, in thousandths.
  private var weights: [String: Int] = [:]

  /// Reads the values of `Accept`. A range of all pictures says nothing about new formats: browsers that lack them have
  /// always sent it.
  init(_ values: [String]) {
    var count = 0
    for value in values {
      var scanner = FieldScanner(value)
      repeat {
        count += 1
        guard count <= Self.most else { return }
        readRange(&scanner)
      } while scanner.nextMember()
    }
  }

  private mutating func readRange(_ scanner: inout FieldScanner) {
    scanner.skipBlanks()
    guard scanner.takeToken() == "image", scanner.takeByte(UInt8(ascii: "/")), let name = scanner.takeToken(),
      let weight = Self.weight(&scanner)
    else { return }
    weights[name] = max(weights[name] ?? 0, weight)
  }

  /// The formats for the client, the best first: new ones that it names, the picture's own if it shows that, and those
  /// that everybody shows.
  var formats: [OutputFormat] {
    let avif: [OutputFormat] = weight(of: .avif) >= weight(of: .webp) ? [.avif] : []
    let shown: [OutputFormat] = [.tiff, .heic, .bmp, .jp2, .jxl]
    return (avif + [.webp]).filter { weight(of: $0) > 0 } + [.original, .jpeg, .png]
      + shown.filter { weight(of: $0) > 0 }
  }

  private func weight(of format: OutputFormat) -> Int { weights[format.rawValue] ?? 0 }

  /// The weight after a range, which is one if it is left out; nil if it cannot be read.
  private static func weight(_ scanner: inout FieldScanner) -> Int? {
    scanner.skipBlanks()
    while scanner.takeByte(UInt8(ascii: ";")) {
      scanner.skipBlanks()
      guard let name = scanner.takeToken() else { continue }
      guard scanner.takeByte(UInt8(ascii: "=")) else { return nil }
      if name == "q" { return scanner.takeWrittenToken().flatMap(thousandths) }
      guard scanner.takeToken() != nil || scanner.takeQuoted() != nil else { return nil }
      scanner.skipBlanks()
    }
    return scanner.isAtMemberEnd ? 1_000 : nil
  }

  /// `0`, `0.5`, `1.000` and the like.
  private static func thousandths(_ text: String) -> Int? {
    let digits = Array(text.utf8)
    guard !digits.isEmpty, digits.count <= 5, digits.count == 1 || digits[1] == UInt8(ascii: "."),
      let whole = decimalValue(digits[0]), whole < 2
    else { return nil }
    var (sum, place) = (whole * 1_000, 100)
    for digit in digits.dropFirst(2) {
      guard let value = decimalValue(digit) else { return nil }
      sum += value * place
      place /= 10
    }
    return sum <= 1_000 ? sum : nil
  }
}
