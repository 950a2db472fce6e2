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
