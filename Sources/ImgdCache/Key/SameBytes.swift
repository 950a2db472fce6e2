import Glibc

/// Whether two texts are the same bytes.
///
/// `String`'s own equality compares characters, which may be encoded in more than one way.
package func sameBytes(_ left: String, _ right: String) -> Bool { sameBytes(left.utf8.span, right.utf8.span) }

/// Whether two texts are the same bytes, or both missing.
func sameBytes(_ left: String?, _ right: String?) -> Bool {
  guard let left, let right else { return left == nil && right == nil }
  return sameBytes(left, right)
}

/// Whether two stretches of bytes are the same.
func sameBytes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  // Both have this many bytes, and stay valid during the call.
  return unsafe left.withUnsafeBytes { left in
    unsafe right.withUnsafeBytes { right in
      guard let first = left.baseAddress, let second = right.baseAddress else { return true }
      return unsafe memcmp(first, second, left.count) == 0
    }
  }
}

/// The eight bytes from `offset` on.
@inline(__always) func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
  // Any eight bytes make a valid number, and the call checks that they lie inside.
  unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
}

/// An ASCII letter in lower case, or any other byte unchanged.
@inline(__always) func lowerCase(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

/// Feeds a text to the standard library's hasher byte by byte, to agree with `sameBytes`.
package func hashBytes(of text: String, into hasher: inout Hasher) {
  var text = text
  text.withUTF8 { utf8 in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(utf8)) }
  hasher.combine(text.utf8.count)
}
