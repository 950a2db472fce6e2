internal import ImgdText

/// The headers of a request on which its answer depends (RFC 9111, 4.1).
///
/// Only headers that a client has sent count. Those that the daemon adds by itself are the same in
/// every request, so their absence from what clients send matches; credentials are part of the
/// key. A header that is absent differs from one that is empty.
package struct VaryOutcome: Sendable, Equatable {
  /// The outcome for an answer that depends on no header.
  package static let none = VaryOutcome(varying: [], sent: [])

  static let credentials: Set<String> = ["authorization", "cookie"]

  /// The parts that few answers have. They are kept apart, since every picture in memory has an outcome.
  private final class Dependence: Sendable {
    let names: [String]
    let pairs: HeaderList
    let place: VariantPlace?

    init(_ names: [String], _ pairs: HeaderList, _ place: VariantPlace?) {
      self.names = names
      self.pairs = pairs
      self.place = place
    }
  }

  private let dependence: Dependence?

  /// The names in Vary, each once, in lower case and in order.
  package var names: [String] { dependence?.names ?? [] }

  /// The headers of these names that were sent, each once, with normalised values.
  package var pairs: HeaderList { dependence?.pairs ?? [] }

  /// Its place among the answers to one name; nil if it depends on no header, and for what was made of a picture.
  package var place: VariantPlace? { dependence?.place }

  /// `varying` are the names in Vary, `sent` the request's headers under lower-case names.
  package init(varying: [String], sent: HeaderList, place: VariantPlace? = nil) {
    let names = Self.listed(varying)
    let pairs = names.compactMap { name in Self.value(of: name, in: sent).map { (name, $0) } }
    dependence = names.isEmpty ? nil : Dependence(names, pairs, place)
  }

  /// The outcome for an answer that other requests find, too. `owner` is the variant of their name: for
  /// an identifier, its user.
  package init(varying: [String], fields: SentFields, owner: KeyVariant?) {
    let names = Self.listed(varying)
    let pairs = names.compactMap { name in fields.value(of: name).map { (name, $0) } }
    dependence =
      names.isEmpty ? nil : Dependence(names, pairs, VariantPlace(owner: owner, rest: fields.rest(beside: names)))
  }

  private init(_ dependence: Dependence?) { self.dependence = dependence }

  private static func listed(_ varying: [String]) -> [String] {
    Set(varying.map { $0.lowercased() }).subtracting(credentials).sorted()
  }

  /// The outcome for something made of the picture, which is found by way of the picture alone.
  var withoutPlace: VaryOutcome { VaryOutcome(dependence.map { Dependence($0.names, $0.pairs, nil) }) }

  /// Whether the origin would have given a request with these headers the same answer.
  package func matches(sent: HeaderList) -> Bool {
    guard let dependence else { return true }
    if sent.isEmpty { return dependence.pairs.isEmpty }
    return self == VaryOutcome(varying: dependence.names, sent: sent)
  }

  /// Whether a request with these fields may be shown the answer, although it may have another key.
  func fits(_ fields: SentFields) -> Bool {
    guard let dependence, let place = dependence.place else { return false }
    var pairs = dependence.pairs[...]
    for name in dependence.names {
      let own = pairs.first.flatMap { $0.name == name ? pairs.popFirst()?.value : nil }
      guard sameBytes(own, fields.value(of: name)) else { return false }
    }
    return fields.rest(beside: dependence.names) == place.rest
  }

  /// Whether both are found by the very same requests.
  package func isFound(like other: VaryOutcome) -> Bool { place == other.place && self == other }

  /// Compares bytes: a value in another Unicode spelling is another value.
  package static func == (left: VaryOutcome, right: VaryOutcome) -> Bool {
    left.names == right.names
      && left.pairs.elementsEqual(right.pairs) { $0.name == $1.name && sameBytes($0.value, $1.value) }
  }

  /// The value of a header, with several fields of its name as one list; nil without any.
  private static func value(of name: String, in sent: HeaderList) -> String? {
    let lines = sent.filter { $0.name == name }.map(\.value)
    return lines.isEmpty ? nil : normalisedFieldValue(lines, of: name)
  }

  var cost: Int {
    names.reduce(0) { $0 + $1.utf8.count } + pairs.reduce(0) { $0 + $1.value.utf8.count }
      + (place == nil ? 0 : MemoryLayout<VariantPlace>.stride)
  }
}

/// The place of an answer with `Vary` among the answers to one name, or of a form under its picture.
package struct VariantPlace: Sendable, Equatable {
  /// The variant of the name itself: nil for a URL; with an identifier, its user. For a form, that of its picture.
  let owner: KeyVariant?
  /// The digest of those fields of its request that tell it from others although `Vary` does not list them.
  let rest: Digest128
}

extension VariantPlace {
  /// The place of a form of the picture under a key.
  init(ofFormOf key: CacheKey) {
    self.init(owner: key.variant, rest: Digest128(high: 0, low: UInt64(key.digest?.formBase ?? 0)))
  }

  /// The base that all forms of the picture share; zero for one with credentials.
  var formBase: UInt32 { UInt32(truncatingIfNeeded: rest.low) }
}

/// The values of a field in the one form for all its spellings; several lines of one name are one list.
///
/// Blanks around a value and around its commas mean nothing; in quotes they stay. Lists of preferences
/// have more spellings (`PreferenceList`).
func normalisedFieldValue(_ lines: [String], of name: String) -> String {
  if PreferenceList.isValue(of: name), let list = PreferenceList.normalised(lines.joined(separator: ","), of: name) {
    return list
  }
  return normalisedFieldValue(lines.joined(separator: ","))
}

/// The same for one value, without special treatment of lists of preferences.
func normalisedFieldValue(_ value: String) -> String {
  var scanner = FieldScanner(value)
  var members: [String] = []
  repeat { members.append(scanner.takeMember()) } while scanner.takeByte(UInt8(ascii: ","))
  return members.joined(separator: ",")
}

/// The header fields of one request as `Vary` compares them: each name once, its value in one form.
///
/// A request may have 60 KB of fields and be compared with several answers, so they are normalised only once.
package struct SentFields: Sendable {
  private let values: [String: String]
  /// The fields that tell this request from others unless an answer's `Vary` lists them, sorted by name.
  private let telling: [(name: String, digest: Digest128)]

  /// `sent` are the fields under lower-case names. Those in `credentials` are part of the key.
  package init(_ sent: HeaderList, credentials: Set<String> = []) {
    var lines: [String: [String]] = [:]
    for (name, value) in sent { lines[name, default: []].append(value) }
    let values = Dictionary(uniqueKeysWithValues: lines.map { ($0, normalisedFieldValue($1, of: $0)) })
    self.values = values
    telling = values.keys.filter { isTelling($0) && !credentials.contains($0) }.sorted().map { name in
      var bytes: [UInt8] = []
      appendPart(name, to: &bytes)
      appendPart(values[name] ?? "", to: &bytes)
      return (name, Digest128(of: bytes.span))
    }
  }

  /// The value of a field by its lower-case name; nil if there is no such field, which differs from an empty one.
  func value(of name: String) -> String? { values[name] }

  /// The digest of the telling fields other than those that an answer is known to depend on: no client can
  /// choose, by a field of its own, what others are shown.
  func rest(beside names: [String]) -> Digest128 {
    let names = Set(names)
    var bytes: [UInt8] = []
    for field in telling where !names.contains(field.name) {
      for number in [field.digest.high, field.digest.low] { bytes.appendHex(number, digits: 16) }
    }
    return Digest128(of: bytes.span)
  }
}

/// The fields that HTTP itself has for choosing among several forms of one thing (RFC 9110, 12.5; client hints).
/// An origin that sends `Vary` has said which of these it looks at.
private let negotiating: Set<String> = [
  "accept", "accept-charset", "accept-encoding", "accept-language", "device-memory", "downlink", "dpr", "ect", "rtt",
  "save-data", "viewport-width", "width",
]

private func isTelling(_ name: String) -> Bool {
  !KeyVariant.isHarmless(name) && !negotiating.contains(name) && !name.hasPrefix("sec-ch-")
    && !VaryOutcome.credentials.contains(name)
}

// The fields by which a client says what it prefers (RFC 9110, 12.5): lists of ranges, most with a weight.
//
//     Accept: text/html;Level=1;q=0.50 , image/webp      image/webp,text/html;level=1;q=0.5
//
// The order of their members and the case of the ranges mean nothing, and a weight of one may be left out. So
// there is one form for all spellings of a list: its members in lower case, with the shortest weight, each once,
// in the order of their bytes. Values of parameters may have a meaning of their own, and stay as they are.

/// The field values whose members say what a client prefers.
enum PreferenceList {
  private static let names: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]
  /// Longer lists are compared as they were written: nobody needs them, and sorting them would take long.
  private static let mostMembers = 128

  static func isValue(of name: String) -> Bool { names.contains(name) }

  /// The one form of a list; nil for one that does not follow the field's grammar, and for a very long one.
  static func normalised(_ value: String, of name: String) -> String? {
    var scanner = FieldScanner(value)
    var members: [String] = []
    var count = 0
    repeat {
      count += 1
      scanner.skipBlanks()
      guard count <= mostMembers else { return nil }
      if scanner.isAtMemberEnd { continue }
      guard let member = scanner.takePreference(hasParameters: name == "accept") else { return nil }
      members.append(member)
    } while scanner.takeByte(UInt8(ascii: ","))
    return scanner.isAtEnd ? eachOnceInByteOrder(members).joined(separator: ",") : nil
  }
}

extension FieldScanner {
  /// A range with its parameters and its weight, in their one form; nil for anything else.
  fileprivate mutating func takePreference(hasParameters: Bool) -> String? {
    guard var member = takeToken() else { return nil }
    if hasParameters {
      guard takeByte(UInt8(ascii: "/")), let subtype = takeToken() else { return nil }
      member += "/" + subtype
    }
    var weight: String?
    skipBlanks()
    while takeByte(UInt8(ascii: ";")) {
      skipBlanks()
      guard let parameter = takeToken() else {
        // RFC 9110, 5.6.6: there may be nothing between two semicolons.
        if isAtMemberEnd || isAt(UInt8(ascii: ";")) { continue }
        return nil
      }
      guard takeByte(UInt8(ascii: "=")) else { return nil }
      if parameter == "q" {
        guard weight == nil, let text = takeWrittenToken(), let least = shortestWeight(text) else { return nil }
        weight = least
      } else {
        guard hasParameters, let value = takeParameterValue() else { return nil }
        member += ";" + parameter + "=" + value
      }
      skipBlanks()
    }
    guard isAtMemberEnd else { return nil }
    return member + (weight ?? "")
  }

  /// Reads a token, or a quoted text, which becomes a token if it can be written as one.
  private mutating func takeParameterValue() -> String? {
    if let token = takeWrittenToken() { return token }
    guard let text = takeQuoted() else { return nil }
    var inside = FieldScanner(text)
    if let token = inside.takeWrittenToken(), sameBytes(token, text) { return token }
    return "\"" + escaped(text) + "\""
  }
}

private func escaped(_ text: String) -> String {
  var bytes: [UInt8] = []
  for byte in text.utf8 {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
    bytes.append(byte)
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// A weight as a parameter without superfluous digits, or an empty text for a weight of one; nil if it is not a weight.
private func shortestWeight(_ text: String) -> String? {
  var digits = Array(text.utf8)
  guard !digits.isEmpty, digits.count <= 5, digits.count == 1 || digits[1] == UInt8(ascii: "."),
    let whole = decimalValue(digits[0]), whole < 2, digits.dropFirst(2).allSatisfy({ decimalValue($0) != nil })
  else { return nil }
  while digits.count > 1, [UInt8(ascii: "0"), UInt8(ascii: ".")].contains(digits[digits.count - 1]) {
    digits.removeLast()
  }
  if whole == 1 { return digits.count == 1 ? "" : nil }
  return ";q=" + String(decoding: digits, as: UTF8.self)
}
