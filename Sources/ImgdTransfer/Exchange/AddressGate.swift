import Glibc

/// Opens the sockets of one exchange, to those addresses that the rule permits.
struct AddressGate {
  let rule: AddressRule
  /// An earlier hop of the transfer was to a public address.
  let afterPublic: Bool
  /// What a socket leads to is the proxy, which the operator chose; where it leads on, it knows.
  let isProxied: Bool

  /// The last address that was refused.
  private(set) var refused: IPAddress?
  /// The address that the request went to; unknown behind a proxy.
  private(set) var connected: IPAddress?
  private(set) var opened = 0
  /// Set when there was no descriptor or memory for a socket.
  private(set) var shortage: CInt?

  init(rule: AddressRule, afterPublic: Bool, isProxied: Bool) {
    self.rule = rule
    self.afterPublic = afterPublic
    self.isProxied = isProxied
  }

  /// A new socket for the address, or nil, and the next address of the host is tried.
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

  /// Looks again at the address that the request is about to go to: a connection that was kept
  /// from another transfer was opened under that transfer's circumstances.
  mutating func mayRequest(from address: IPAddress?) -> Bool {
    guard admits(address) else { return false }
    if !isProxied { connected = address }
    return true
  }

  /// An address that cannot be read is none that can be permitted.
  private mutating func admits(_ address: IPAddress?) -> Bool {
    if isProxied { return true }
    guard let address else { return false }
    if rule.permits(address, afterPublic: afterPublic) { return true }
    refused = address
    return false
  }
}
