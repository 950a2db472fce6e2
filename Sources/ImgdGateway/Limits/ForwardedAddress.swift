internal import ImgdSystem

/// The address of a client behind a proxy.
package enum ForwardedAddress {
  /// The address that a trusted proxy has added to `X-Forwarded-For`; nil for a program of this machine.
  ///
  /// Only the last address of the last field is the proxy's: the client wrote those before it.
  package static func client(of fields: [String], peer: HTTPPeer, trusting: [HTTPPeer]) -> AddressKey? {
    guard trusting.contains(peer), let field = fields.last else { return nil }
    let bytes = Array(field.utf8)
    let start = bytes.lastIndex(of: UInt8(ascii: ",")).map { $0 + 1 } ?? 0
    return AddressKey(String(decoding: bytes[start...].trimmed(of: " \t"), as: UTF8.self))
  }
}
