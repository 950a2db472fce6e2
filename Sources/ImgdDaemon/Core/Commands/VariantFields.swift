import ImgdCache
import ImgdWire

/// The description of several answers to one name.
enum VariantFields {
  /// An origin may list thousands of headers, and a client send them with long values: at most this many bytes of one
  /// answer are shown.
  private static let mostBytes = 8 << 10

  /// Writes the answers, if there are any.
  static func write(_ variants: [Variants.Held], to line: inout JSONWriter) {
    guard !variants.isEmpty else { return }
    line.array("variants") { line in
      for held in variants {
        line.object { line in
          line.object("vary") { write(held.variant.vary, to: &$0) }
          line.field("stored", Timestamp.rfc3339(held.variant.storedAt))
          line.array("tiers") { line in for tier in held.tiers { line.value(tier.rawValue) } }
        }
      }
    }
  }

  /// The names, each with the value that was sent, or null.
  private static func write(_ vary: VaryOutcome, to line: inout JSONWriter) {
    var pairs = vary.pairs[...]
    var left = mostBytes
    for name in vary.names {
      let value = pairs.first.flatMap { $0.name == name ? pairs.popFirst()?.value : nil }
      left -= name.utf8.count + (value?.utf8.count ?? 0)
      guard left >= 0 else { return }
      line.name(name)
      if let value { line.value(value) } else { line.null() }
    }
  }
}
