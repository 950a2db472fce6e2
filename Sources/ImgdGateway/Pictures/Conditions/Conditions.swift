internal import ImgdText

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

  /// Judges the picture that would be sent.
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
