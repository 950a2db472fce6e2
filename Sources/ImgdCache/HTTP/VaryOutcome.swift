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

  /// Its place among the answers to one name; nil if it depends on no header, and for
  /// what was made of a picture.
  package var place: VariantPlace? { dependence?.place }

  /// `varying` are the names in Vary, `sent` the request's headers under lower-case names.
  package init(varying: [String], sent: HeaderList, place: VariantPlace? = nil) {
    let names = Self.listed(varying)
    guard !names.isEmpty else {
      dependence = nil
      return
    }
    let pairs = names.compactMap { name in Self.value(of: name, in: sent).map { (name, $0) } }
    dependence = Dependence(names, pairs, place)
  }

  /// The outcome for an answer that other requests find, too. `owner` is the variant of their name: for
  /// an identifier, its user.
  package init(varying: [String], fields: SentFields, owner: KeyVariant?) {
    let names = Self.listed(varying)
    guard !names.isEmpty else {
      dependence = nil
      return
    }
    let pairs = names.compactMap { name in fields.value(of: name).map { (name, $0) } }
    dependence = Dependence(names, pairs, VariantPlace(owner: owner, rest: fields.rest(beside: names)))
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

/// The place of an answer with `Vary` among the answers to one name.
package struct VariantPlace: Sendable, Equatable {
  /// The variant of the name itself: nil for a URL; with an identifier, its user.
  let owner: KeyVariant?
  /// The digest of those fields of its request that tell it from others although `Vary` does not list them.
  let rest: Digest128
}

/// The values of a field in the one form for all its spellings; several lines of one name are one list.
///
/// Blanks around a value and around its commas mean nothing; in quotes they stay. Lists of preferences
/// have more spellings (`PreferenceList`).
func normalisedFieldValue(_ lines: [String], of name: String) -> String {
  if PreferenceList.isValue(of: name), let list = PreferenceList.normalised(lines.joined(separator: ","), of: name) {
    return list
  }
  return lines.map(normalisedFieldValue).joined(separator: ",")
}

/// A field's value in the one form for all its spellings: blanks around it and around its commas mean
/// nothing; in quotes they stay.
func normalisedFieldValue(_ value: String) -> String {
  var scanner = FieldScanner(value)
  var members: [String] = []
  repeat { members.append(scanner.takeMember()) } while scanner.takeByte(UInt8(ascii: ","))
  return members.joined(separator: ",")
}
