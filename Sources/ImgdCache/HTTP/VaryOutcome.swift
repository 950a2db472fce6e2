/// The headers of a request on which its answer depends (RFC 9111, 4.1).
///
/// Only what a client has asked for counts. Headers that the daemon adds by itself are the same in
/// every request, so that their absence in what clients send matches; credentials are part of the
/// key. A header that is absent differs from one that is empty.
package struct VaryOutcome: Sendable, Equatable {
  /// Of an answer that depends on nothing.
  package static let none = VaryOutcome(varying: [], sent: [])

  /// What few answers have, apart: every picture in memory has an outcome.
  private final class Dependence: Sendable {
    let names: [String]
    let pairs: HeaderList

    init(_ names: [String], _ pairs: HeaderList) {
      self.names = names
      self.pairs = pairs
    }
  }

  private let dependence: Dependence?

  private var names: [String] { dependence?.names ?? [] }

  /// The headers that were sent, each once, with the values normalised.
  package var pairs: HeaderList { dependence?.pairs ?? [] }

  /// `varying` are the names in Vary, `sent` the request's headers under lower-case names.
  package init(varying: [String], sent: HeaderList) {
    let names = Set(varying.map { $0.lowercased() }).subtracting(["authorization", "cookie"])
      .sorted()
    let pairs = names.compactMap { name in Self.value(of: name, in: sent).map { (name, $0) } }
    dependence = names.isEmpty ? nil : Dependence(names, pairs)
  }

  /// Whether the origin would have answered a request with these headers the same.
  package func matches(sent: HeaderList) -> Bool {
    guard let dependence else { return true }
    if sent.isEmpty { return dependence.pairs.isEmpty }
    return self == VaryOutcome(varying: dependence.names, sent: sent)
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
    let lines = sent.filter { $0.name == name }.map(\.value)
    return lines.isEmpty ? nil : normalisedFieldValue(lines, of: name)
  }

  var cost: Int {
    names.reduce(0) { $0 + $1.utf8.count } + pairs.reduce(0) { $0 + $1.value.utf8.count }
  }
}

/// The values of a field in the one form for all its spellings; several lines of one name are one list.
///
/// Blanks around a value and around its commas mean nothing; in quotes they stay. Lists of preferences
/// have more spellings (`PreferenceList`).
func normalisedFieldValue(_ lines: [String], of name: String) -> String {
  if PreferenceList.isValue(of: name),
    let list = PreferenceList.normalised(lines.joined(separator: ","), of: name)
  {
    return list
  }
  return lines.map(normalisedFieldValue).joined(separator: ",")
}

/// A field's value in the one form for all its spellings: blanks around it and around its commas mean
/// nothing; in quotes they stay.
func normalisedFieldValue(_ value: String) -> String {
  var scanner = FieldScanner(value)
  var members: [String] = []
  repeat { members.append(scanner.takeMember()) } while scanner.take(UInt8(ascii: ","))
  return members.joined(separator: ",")
}
