/// What parts the requests for one URL: the header fields that may change the answer, and for an
/// identifier, which clients choose, its user.
///
/// An origin may answer such a request with another picture, and need not say so in `Vary`. If it
/// were kept under the URL alone, any client could choose what all the others are shown. The digest
/// has 128 bits, so that no fields can be found that lead to another client's entry; files are named
/// after it, so that its form never changes within one layout of the directory.
package struct KeyVariant: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil for a request that names nothing but a URL, which is nearly every one.
  ///
  /// `fields` are the request's, under lower-case names, without its credentials. A user without
  /// fields stands for itself, without a digest: that is a hit's way.
  package init?(identifier: String?, fields: HeaderList = [], uid: UInt32) {
    let hasIdentifier = identifier?.isEmpty == false
    guard hasIdentifier || !fields.isEmpty else { return nil }
    let telling = fields.isEmpty ? [] : fields.filter { !Self.isHarmless($0.name) }
    guard !telling.isEmpty else {
      guard hasIdentifier else { return nil }
      self.init(high: 0, low: UInt64(uid))
      return
    }
    var parts: [UInt8] = []
    appendPart(hasIdentifier ? String(uid) : "", to: &parts)
    for (name, value) in telling.sorted(by: { $0.name < $1.name }) {
      appendPart(name, to: &parts)
      appendPart(normalisedFieldValue(value), to: &parts)
    }
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// What sets apart something that was made of a picture: the picture's own variant, its very bytes, and the
  /// form that was made of them.
  init(of original: KeyVariant?, _ checksum: BodyChecksum, form: String) {
    var parts: [UInt8] = []
    appendPart("made", to: &parts)
    for number in [original?.high ?? 0, original?.low ?? 0, checksum.value] {
      parts.appendHex(number, digits: 16)
    }
    parts.append(original == nil ? 0 : 1)
    appendPart(form, to: &parts)
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// Fields that tell an origin nothing that a picture may depend on. What is not listed is not
  /// harmless: each origin may have a meaning of its own for it.
  private static let harmless: Set<String> = [
    "cache-control", "pragma", "dnt", "sec-gpc", "priority", "traceparent", "tracestate",
    "x-request-id", "x-correlation-id",
    // Conditions: their answer is this picture, or none.
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
  ]

  /// Makes the variant part of a key's hash.
  func hash(into hasher: inout KeyHasher) {
    hasher.combine(high)
    hasher.combine(low)
  }

  /// Whether a field, by its lower-case name, leaves the answer what it is.
  static func isHarmless(_ name: String) -> Bool { harmless.contains(name) }
}
