// Which addresses the engine may connect to.
//
// Whoever may ask for a URL could otherwise make the daemon ask the router, the cloud's metadata
// service, or a neighbour's database. So the rule looks at the address that a socket is about to be
// connected to, never at a name: a name may resolve to anything, and to something else next time.
//
// Three classes. Some addresses are never right for a picture (link-local, multicast and the like).
// Private ones are right when the request itself leads there, and are an attack when a public origin
// redirects there. All others are public. An IPv4 address that is wrapped in IPv6 counts as itself.

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

  /// Whether the address may be asked; `afterPublic` when an earlier hop was to a public one.
  package func permits(_ address: IPAddress, afterPublic: Bool) -> Bool {
    if address.isNever || deny.contains(either: address) { return false }
    guard address.isPrivate, !allow.contains(either: address) else { return true }
    switch mode {
    case .direct: return !afterPublic
    case .deny: return false
    case .allow: return true
    }
  }
}

extension IPAddress {
  /// Whether no request can rightly lead there, whatever the rule says.
  package var isNever: Bool { Self.never.contains { $0.contains(unwrapped) } }

  /// Whether the address means something only here: on this machine or in its own network.
  package var isPrivate: Bool { Self.privateUse.contains { $0.contains(unwrapped) } }

  package var isPublic: Bool { !isNever && !isPrivate }

  private static let never: [AddressRange] = [
    AddressRange(known: "0.0.0.0/8"),
    AddressRange(known: "169.254.0.0/16"),
    AddressRange(known: "224.0.0.0/4"),
    // Class E and the broadcast address.
    AddressRange(known: "240.0.0.0/4"),
    AddressRange(known: "::/128"),
    AddressRange(known: "fe80::/10"),
    AddressRange(known: "ff00::/8"),
  ]

  private static let privateUse: [AddressRange] = [
    AddressRange(known: "10.0.0.0/8"),
    // Between a provider and its customers (RFC 6598).
    AddressRange(known: "100.64.0.0/10"),
    AddressRange(known: "127.0.0.0/8"),
    AddressRange(known: "172.16.0.0/12"),
    AddressRange(known: "192.0.0.0/24"),
    AddressRange(known: "192.168.0.0/16"),
    // For measuring network devices (RFC 2544).
    AddressRange(known: "198.18.0.0/15"),
    AddressRange(known: "::1/128"),
    // NAT64 of the local network (RFC 8215): where it leads, only the network knows.
    AddressRange(known: "64:ff9b:1::/48"),
    AddressRange(known: "fc00::/7"),
    // Site-local, what fc00::/7 was before (RFC 3879).
    AddressRange(known: "fec0::/10"),
  ]
}

extension [AddressRange] {
  /// People may list an address as it is written, or as what it stands for.
  fileprivate func contains(either address: IPAddress) -> Bool {
    contains { $0.contains(address) || $0.contains(address.unwrapped) }
  }
}
