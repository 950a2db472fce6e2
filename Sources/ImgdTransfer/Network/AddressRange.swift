/// A network in CIDR notation.
package struct AddressRange: Sendable, Equatable {
  /// Reads `10.0.0.0/8`, `fc00::/7`, or a single address.
  package init?(_ text: String) { return nil }
}
