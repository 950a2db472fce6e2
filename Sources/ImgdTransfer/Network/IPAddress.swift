internal import CCurl
import Glibc

/// An address as a number.
package enum IPAddress: Hashable, Sendable {
  case v4(UInt32)
  case v6(high: UInt64, low: UInt64)

  /// Reads `192.0.2.1` or `2001:db8::1`, with or without brackets.
  package init?(_ text: String) {
    let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    // `inet_pton` reads up to the first zero byte and would ignore the rest.
    guard !bare.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if unsafe inet_pton(AF_INET, bare, &bytes) == 1 {
      self = .v4(Self.number(bytes[0..<4]))
    } else if unsafe inet_pton(AF_INET6, bare, &bytes) == 1 {
      self = .v6(high: Self.number(bytes[0..<8]), low: Self.number(bytes[8..<16]))
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
      let bytes = unsafe withUnsafeBytes(of: address.sin6_addr) { unsafe Array($0) }
      self = .v6(high: Self.number(bytes[0..<8]), low: Self.number(bytes[8..<16]))
    default: return nil
    }
  }

  private static func number<N: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> N {
    bytes.reduce(0) { $0 << 8 | N($1) }
  }

  /// The IPv4 address that an IPv6 address wraps, if it wraps one; otherwise the address itself.
  ///
  /// Mapped `::ffff:a.b.c.d`, compatible `::a.b.c.d`, NAT64 `64:ff9b::/96`, 6to4 `2002::/16`.
  var unwrapped: IPAddress {
    guard case .v6(let high, let low) = self else { return self }
    let lowest = UInt32(truncatingIfNeeded: low)
    if high == 0, low >> 32 == 0xffff { return .v4(lowest) }
    if high == 0, low >> 32 == 0, low > 1 { return .v4(lowest) }
    if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return .v4(lowest) }
    if high >> 48 == 0x2002 { return .v4(UInt32(truncatingIfNeeded: high >> 16)) }
    return self
  }
}

extension IPAddress: CustomStringConvertible {
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
