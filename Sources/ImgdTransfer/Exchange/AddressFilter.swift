import Glibc

/// Opens the sockets of one exchange, but only to addresses that the rule permits.
struct AddressFilter {
  let rule: AddressRule
  /// Whether an earlier hop of the transfer was to a public address.
  let afterPublic: Bool
  /// Whether sockets lead to a proxy, which the operator chose and which does not reveal its target.
  let isProxied: Bool

  /// The last address that was refused.
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

  /// Checks the address again just before the request: a connection kept from another transfer was
  /// opened under the rules of that transfer.
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
