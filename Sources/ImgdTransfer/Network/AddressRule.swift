/// Which addresses may be asked.
package struct AddressRule: Sendable, Equatable {
  /// What becomes of private and loopback addresses.
  package enum Mode: String, Sendable {
    /// Asked when the request itself leads there, refused when a public origin redirects there.
    case direct
    case deny
    case allow
  }

  package var mode: Mode
  /// Private networks that are open in every mode.
  package var allow: [AddressRange]
  /// Networks that are closed in every mode; wins over `allow`.
  package var deny: [AddressRange]

  package init(mode: Mode = .direct, allow: [AddressRange] = [], deny: [AddressRange] = []) {
    self.mode = mode
    self.allow = allow
    self.deny = deny
  }
}
