import Glibc

/// The address by which the requests of one client are counted.
package enum AddressKey: Hashable, Sendable {
  case v4(UInt32)
  /// The upper half of an IPv6 address: a household has the whole lower half.
  case v6(UInt64)
  /// Everything that a proxy forwards and that is not an address.
  case unknown

  /// Reads an address without a port; a wrapped IPv4 address is that address.
  init(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    // `inet_pton` would ignore what follows a zero byte; the bytes have room for either family.
    if text.utf8.contains(0) {
      self = .unknown
    } else if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
      self = .v4(Self.number(bytes[..<4]))
    } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
      self = bytes.starts(with: Self.wrapping) ? .v4(Self.number(bytes[12...])) : .v6(Self.number(bytes[..<8]))
    } else {
      self = .unknown
    }
  }

  /// How `::ffff:192.0.2.1` begins: a socket of both families has IPv4 clients under such addresses.
  private static let wrapping: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]

  /// The share of the daemon's decoders that this client's requests have.
  package var share: String {
    switch self {
    case .v4(let address): Self.bytes(of: address).map(String.init).joined(separator: ".")
    case .v6(let prefix): Self.groups(of: prefix).map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    case .unknown: "unknown"
    }
  }

  private static func bytes(of address: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: address >> UInt32($0)) }
  }

  private static func groups(of prefix: UInt64) -> [UInt16] {
    stride(from: 48, through: 0, by: -16).map { UInt16(truncatingIfNeeded: prefix >> UInt64($0)) }
  }

  private static func number<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Number {
    bytes.reduce(0) { $0 << 8 | Number($1) }
  }
}
