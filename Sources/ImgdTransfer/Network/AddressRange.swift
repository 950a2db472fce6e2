/// A network in CIDR notation.
package struct AddressRange: Hashable, Sendable {
  private let base: IPAddress
  private let prefix: Int

  /// Reads `10.0.0.0/8`, `fc00::/7`, or a single address; bits beyond the prefix are ignored.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let base = IPAddress(String(parts[0])) else { return nil }
    self.base = base
    guard parts.count == 2 else {
      prefix = base.width
      return
    }
    guard let prefix = Self.prefix(parts[1], atMost: base.width) else { return nil }
    self.prefix = prefix
  }

  /// Only digits: `Int` would accept a sign.
  private static func prefix(_ text: Substring, atMost most: Int) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let prefix = Int(text), prefix <= most else {
      return nil
    }
    return prefix
  }

  /// Whether an address of the same family lies within the range.
  package func contains(_ address: IPAddress) -> Bool {
    switch (base, address) {
    case (.v4(let own), .v4(let other)): return own.agrees(with: other, in: prefix)
    case (.v6(let ownHigh, let ownLow), .v6(let high, let low)):
      return ownHigh.agrees(with: high, in: min(prefix, 64)) && ownLow.agrees(with: low, in: max(prefix - 64, 0))
    default: return false
    }
  }
}

extension AddressRange {
  /// A range written in the source.
  init(known text: StaticString) {
    guard let range = AddressRange(text.description) else { preconditionFailure("\(text) is a network") }
    self = range
  }
}

extension IPAddress { fileprivate var width: Int { if case .v4 = self { 32 } else { 128 } } }

extension FixedWidthInteger {
  /// Whether the first `bits` bits are equal; a shift by the whole width leaves zero.
  fileprivate func agrees(with other: Self, in bits: Int) -> Bool { (self ^ other) >> (Self.bitWidth - bits) == 0 }
}
