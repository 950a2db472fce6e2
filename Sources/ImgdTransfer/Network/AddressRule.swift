// The addresses that the engine may connect to. Without a rule, every client could make the daemon send requests to
// the router, the cloud's metadata service, or a neighbour's database. The rule checks the address that a socket is
// about to connect to, never a name: a name may resolve to anything, and to something else next time.
//
// There are three classes. Some addresses never serve pictures (link-local, multicast and the like). Private ones are
// all that IANA's registries of special addresses (RFC 6890) do not call globally reachable: they are valid when the
// request itself names them, and an attack when a public origin redirects there. The others are public. An IPv4
// address that is wrapped in IPv6 counts as itself.

internal import CCurl
import Glibc

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
    if address.isNever || Self.contains(deny, address) { return false }
    guard address.isPrivate, !Self.contains(allow, address) else { return true }
    switch mode {
    case .direct: return !afterPublic
    case .deny: return false
    case .allow: return true
    }
  }

  /// A list may name an address in either form, wrapped or unwrapped.
  private static func contains(_ list: [AddressRange], _ address: IPAddress) -> Bool {
    list.contains { $0.contains(address) || $0.contains(address.unwrapped) }
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

  private static let never = networks([
    "0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4",
    // Class E and the broadcast address.
    "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8",
  ])

  private static let privateUse = networks([
    "10.0.0.0/8",
    // Between a provider and its customers (RFC 6598).
    "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12",
    // For protocols (RFC 6890).
    "192.0.0.0/24",
    // For documentation (RFC 5737).
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",
    // The nearest relay of 6to4, deprecated (RFC 7526).
    "192.88.99.0/24", "192.168.0.0/16",
    // For benchmarks of network devices (RFC 2544).
    "198.18.0.0/15",
    // Loopback, NAT64 of the local network (RFC 8215), whose targets are unknown, and reserved addresses.
    "::/8",
    // Addresses that discard everything, and dummies (RFC 6666, RFC 9780).
    "100::/32",
    // For protocols (RFC 2928), such as Teredo, which wraps obfuscated addresses, and for benchmarks.
    "2001::/23",
    // For documentation (RFC 3849, RFC 9637).
    "2001:db8::/32", "3fff::/20",
    // Identifiers of segments in segment routing (RFC 9602).
    "5f00::/16", "fc00::/7",
    // Site-local, the predecessor of fc00::/7 (RFC 3879).
    "fec0::/10",
  ])

  /// The addresses within the networks for protocols that are reachable from everywhere.
  private static let reachable = networks([
    // The nearest server that forwards ports or relays (RFC 7723, RFC 8155).
    "192.0.0.9/32", "192.0.0.10/32", "2001:1::1/128", "2001:1::2/128",
    // The nearest server for registrations of services (RFC 9665).
    "2001:1::3/128",
    // Automatic multicast tunnelling (RFC 7450).
    "2001:3::/32",
    // The servers that answer for names of private addresses (RFC 7535).
    "2001:4:112::/48",
    // Hashes of keys, and identifiers of drones (RFC 7343, RFC 9374).
    "2001:20::/28", "2001:30::/28",
  ])

  private static func networks(_ texts: [String]) -> [AddressRange] {
    texts.map { text in
      guard let range = AddressRange(text) else { preconditionFailure("\(text) is a network") }
      return range
    }
  }
}

/// A network in CIDR notation.
package struct AddressRange: Hashable, Sendable {
  private let base: IPAddress
  private let prefix: Int

  /// Reads `10.0.0.0/8`, `fc00::/7`, or a single address; bits beyond the prefix are ignored.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let base = IPAddress(String(parts[0])) else { return nil }
    self.base = base
    let text = parts.count == 2 ? parts[1] : "\(base.width)"
    // Only digits: `Int` would accept a sign.
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let prefix = Int(text), prefix <= base.width else {
      return nil
    }
    self.prefix = prefix
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

extension FixedWidthInteger {
  /// Whether the first `bits` bits are equal; a shift by the whole width leaves zero.
  fileprivate func agrees(with other: Self, in bits: Int) -> Bool { (self ^ other) >> (Self.bitWidth - bits) == 0 }
}

/// An address as a number.
package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
  case v4(UInt32)
  case v6(high: UInt64, low: UInt64)

  /// Reads `192.0.2.1` or `2001:db8::1`, with or without brackets.
  package init?(_ text: String) {
    let bytes = text.utf8
    let hasBrackets = bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
    let bare = hasBrackets ? String(text.dropFirst().dropLast()) : text
    // `inet_pton` reads up to the first zero byte and would ignore the rest.
    guard !bytes.contains(0) else { return nil }
    var (short, long) = (in_addr(), in6_addr())
    if unsafe inet_pton(AF_INET, bare, &short) == 1 {
      self = .v4(UInt32(bigEndian: short.s_addr))
    } else if unsafe inet_pton(AF_INET6, bare, &long) == 1 {
      self = Self.v6(long)
    } else {
      return nil
    }
  }

  /// The address that a socket is about to connect to.
  init?(_ socket: UnsafePointer<sockaddr>) {
    switch CInt(unsafe socket.pointee.sa_family) {
    case AF_INET:
      let address = unsafe UnsafeRawPointer(socket).loadUnaligned(as: sockaddr_in.self)
      self = .v4(UInt32(bigEndian: address.sin_addr.s_addr))
    case AF_INET6:
      let address = unsafe UnsafeRawPointer(socket).loadUnaligned(as: sockaddr_in6.self)
      self = Self.v6(address.sin6_addr)
    default: return nil
    }
  }

  fileprivate var width: Int { if case .v4 = self { 32 } else { 128 } }

  private static func v6(_ address: in6_addr) -> IPAddress {
    unsafe withUnsafeBytes(of: address) { bytes in
      .v6(
        high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }

  /// The IPv4 address that an IPv6 address wraps, if it wraps one; otherwise the address itself. Mapped
  /// `::ffff:a.b.c.d`, compatible `::a.b.c.d`, NAT64 `64:ff9b::/96`, 6to4 `2002::/16`.
  var unwrapped: IPAddress {
    guard case .v6(let high, let low) = self else { return self }
    let lowest = UInt32(truncatingIfNeeded: low)
    if high == 0, low >> 32 == 0xffff { return .v4(lowest) }
    if high == 0, low >> 32 == 0, low > 1 { return .v4(lowest) }
    if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return .v4(lowest) }
    if high >> 48 == 0x2002 { return .v4(UInt32(truncatingIfNeeded: high >> 16)) }
    return self
  }

  package var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch self {
    case .v4(let number):
      var bytes = number.bigEndian
      unsafe inet_ntop(AF_INET, &bytes, &text, socklen_t(text.count))
    case .v6(let high, let low):
      var bytes = (high.bigEndian, low.bigEndian)
      unsafe inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }
}

/// Opens the sockets of one exchange, but only to addresses that the rule permits.
struct AddressFilter {
  let rule: AddressRule
  let afterPublic: Bool
  /// Whether sockets lead to a proxy, which the operator chose and which does not reveal its target.
  let isProxied: Bool

  private(set) var refused: IPAddress?
  /// The address that the request went to; unknown behind a proxy.
  private(set) var connected: IPAddress?
  private(set) var opened = 0
  /// The error when there was no descriptor or memory for a socket.
  private(set) var shortage: CInt?

  /// A new socket for the address; after nil curl tries the next address of the host.
  mutating func open(_ address: IPAddress?, family: CInt, type: CInt, protocol: CInt) -> CInt? {
    guard admits(address) else { return nil }
    let number = socket(family, type | CInt(SOCK_CLOEXEC.rawValue), `protocol`)
    guard number >= 0 else {
      if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { shortage = errno }
      return nil
    }
    opened += 1
    return number
  }

  /// Checks again just before the request: a kept connection was opened under the rules of another transfer.
  mutating func mayRequest(from address: IPAddress?) -> Bool {
    guard admits(address) else { return false }
    if !isProxied { connected = address }
    return true
  }

  /// An address that cannot be read is refused.
  private mutating func admits(_ address: IPAddress?) -> Bool {
    if isProxied { return true }
    guard let address else { return false }
    if rule.permits(address, afterPublic: afterPublic) { return true }
    refused = address
    return false
  }
}
