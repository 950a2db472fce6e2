/// Tells the requests for one URL apart: by the header fields that may change the answer, and, where there
/// is an identifier, which clients choose, also by its user.
///
/// An origin may answer such a request with another picture, and need not say so in `Vary`. If that picture
/// were kept under the URL alone, any client could choose what all the others are shown. The digest
/// has 128 bits, so nobody can find fields that lead to another client's entry; files are named
/// after it, so its form never changes within one layout of the directory.
package struct KeyVariant: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil for a request that names nothing but a URL, which is nearly every one.
  ///
  /// `fields` are the request's header fields, under lower-case names, without its credentials. Without
  /// fields, the user stands for itself: a hit with an identifier then costs no digest.
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

  /// The variant of something that was made of a picture, from the picture's own variant, the checksum of its
  /// bytes, and the form that was made of them.
  init(of original: KeyVariant?, _ checksum: BodyChecksum, form: String) {
    var parts: [UInt8] = []
    appendPart("made", to: &parts)
    for number in [original?.high ?? 0, original?.low ?? 0, checksum.value] { parts.appendHex(number, digits: 16) }
    parts.append(original == nil ? 0 : 1)
    appendPart(form, to: &parts)
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// Fields that tell an origin nothing that a picture may depend on. No other field is harmless: each origin
  /// may give it a meaning of its own.
  private static let harmless: Set<String> = [
    "cache-control", "pragma", "dnt", "sec-gpc", "priority", "traceparent", "tracestate", "x-request-id",
    "x-correlation-id",
    // Conditions: the answer to them is the same picture, or none at all.
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
  ]

  /// Makes the variant part of a key's hash.
  func hash(into hasher: inout KeyHasher) {
    hasher.combine(high)
    hasher.combine(low)
  }

  /// Whether a field, given by its lower-case name, cannot change the answer.
  static func isHarmless(_ name: String) -> Bool { harmless.contains(name) }
}
