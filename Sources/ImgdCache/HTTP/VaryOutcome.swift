/// The headers of a request on which its answer depends (RFC 9111, 4.1).
///
/// Only what a client has asked for counts. Headers that the daemon adds by itself are the same in
/// every request, so that their absence in what clients send matches; credentials are part of the
/// key. A header that is absent differs from one that is empty.
package struct VaryOutcome: Sendable, Equatable {
  /// Of an answer that depends on nothing.
  package static let none = VaryOutcome(varying: [], sent: [])

  private let names: [String]
  /// The headers that were sent, each once, with the values normalised.
  package let pairs: HeaderList

  /// `varying` are the names in Vary, `sent` the request's headers under lower-case names.
  package init(varying: [String], sent: HeaderList) {
    names = Set(varying.map { $0.lowercased() }).subtracting(["authorization", "cookie"]).sorted()
    pairs = names.compactMap { name in Self.value(of: name, in: sent).map { (name, $0) } }
  }

  /// Whether the origin would have answered a request with these headers the same.
  package func matches(sent: HeaderList) -> Bool {
    if names.isEmpty || sent.isEmpty { return pairs.isEmpty }
    return self == VaryOutcome(varying: names, sent: sent)
  }

  /// By bytes: a value in another Unicode spelling is another value.
  package static func == (left: VaryOutcome, right: VaryOutcome) -> Bool {
    left.names == right.names
      && left.pairs.elementsEqual(right.pairs) {
        $0.name == $1.name && sameBytes($0.value, $1.value)
      }
  }

  /// Several fields of one name are one list; nil without any.
  private static func value(of name: String, in sent: HeaderList) -> String? {
    let values = sent.filter { $0.name == name }.map { normalisedFieldValue($0.value) }
    return values.isEmpty ? nil : values.joined(separator: ",")
  }

  var cost: Int {
    names.reduce(0) { $0 + $1.utf8.count } + pairs.reduce(0) { $0 + $1.value.utf8.count }
  }
}

/// A field's value in the one form for all its spellings: blanks around it and around its commas mean
/// nothing; in quotes they stay.
func normalisedFieldValue(_ value: String) -> String {
  var scanner = FieldScanner(value)
  var members: [String] = []
  repeat { members.append(scanner.takeMember()) } while scanner.take(UInt8(ascii: ","))
  return members.joined(separator: ",")
}
