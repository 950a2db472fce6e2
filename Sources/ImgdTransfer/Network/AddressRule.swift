// The addresses that the engine may connect to.
//
// Without a rule, every client could make the daemon send requests to the router, the cloud's metadata
// service, or a neighbour's database. The rule checks the address that a socket is about to connect
// to, never a name: a name may resolve to anything, and to something else next time.
//
// There are three classes. Some addresses never serve pictures (link-local, multicast and the like).
// Private ones are all that IANA's registries of special addresses (RFC 6890) do not call globally
// reachable: they are valid when the request itself names them, and an attack when a public origin
// redirects there. The others are public. An IPv4 address that is wrapped in IPv6 counts as itself.

/// The rule for addresses.
package struct AddressRule: Sendable, Equatable {
  /// The handling of private and loopback addresses.
  package enum Mode: String, Sendable {
    /// Allowed when the request itself names them, refused when a public origin redirects there.
    case direct
    case deny
    case allow
  }

  package var mode: Mode
  /// Private networks that are allowed in every mode.
  package var allow: [AddressRange]
  /// Networks that are refused in every mode; takes precedence over `allow`.
  package var deny: [AddressRange]

  package init(mode: Mode = .direct, allow: [AddressRange] = [], deny: [AddressRange] = []) {
    self.mode = mode
    self.allow = allow
    self.deny = deny
  }

  /// Whether to connect to the address; `afterPublic` when an earlier hop was to a public one.
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
  /// Whether the address is refused by every rule.
  package var isNever: Bool { Self.never.contains { $0.contains(unwrapped) } }

  /// Whether the address is valid only on this machine, only in its own network, or nowhere.
  package var isPrivate: Bool {
    Self.privateUse.contains { $0.contains(unwrapped) } && !Self.reachable.contains { $0.contains(unwrapped) }
  }

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
    AddressRange(known: "100.64.0.0/10"), AddressRange(known: "127.0.0.0/8"), AddressRange(known: "172.16.0.0/12"),
    // For protocols (RFC 6890).
    AddressRange(known: "192.0.0.0/24"),
    // For documentation (RFC 5737).
    AddressRange(known: "192.0.2.0/24"), AddressRange(known: "198.51.100.0/24"), AddressRange(known: "203.0.113.0/24"),
    // The nearest relay of 6to4, deprecated (RFC 7526).
    AddressRange(known: "192.88.99.0/24"), AddressRange(known: "192.168.0.0/16"),
    // For benchmarks of network devices (RFC 2544).
    AddressRange(known: "198.18.0.0/15"),
    // Loopback, NAT64 of the local network (RFC 8215), whose targets are unknown, and reserved addresses.
    AddressRange(known: "::/8"),
    // Addresses that discard everything, and dummies (RFC 6666, RFC 9780).
    AddressRange(known: "100::/32"),
    // For protocols (RFC 2928), such as Teredo, which wraps obfuscated addresses, and for benchmarks.
    AddressRange(known: "2001::/23"),
    // For documentation (RFC 3849, RFC 9637).
    AddressRange(known: "2001:db8::/32"), AddressRange(known: "3fff::/20"),
    // Identifiers of segments in segment routing (RFC 9602).
    AddressRange(known: "5f00::/16"), AddressRange(known: "fc00::/7"),
    // Site-local, the predecessor of fc00::/7 (RFC 3879).
    AddressRange(known: "fec0::/10"),
  ]

  /// The addresses within the networks for protocols that are reachable from everywhere.
  private static let reachable: [AddressRange] = [
    // The nearest server that forwards ports or relays (RFC 7723, RFC 8155).
    AddressRange(known: "192.0.0.9/32"), AddressRange(known: "192.0.0.10/32"), AddressRange(known: "2001:1::1/128"),
    AddressRange(known: "2001:1::2/128"),
    // The nearest server for registrations of services (RFC 9665).
    AddressRange(known: "2001:1::3/128"),
    // Automatic multicast tunnelling (RFC 7450).
    AddressRange(known: "2001:3::/32"),
    // The servers that answer for names of private addresses (RFC 7535).
    AddressRange(known: "2001:4:112::/48"),
    // Hashes of keys, and identifiers of drones (RFC 7343, RFC 9374).
    AddressRange(known: "2001:20::/28"), AddressRange(known: "2001:30::/28"),
  ]
}

extension [AddressRange] {
  /// A list may name an address in either form, wrapped or unwrapped.
  fileprivate func contains(either address: IPAddress) -> Bool {
    contains { $0.contains(address) || $0.contains(address.unwrapped) }
  }
}
