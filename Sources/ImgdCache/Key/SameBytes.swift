import Glibc

/// Whether two texts are the same bytes.
///
/// `String`'s own equality compares characters, which may be spelt in more than one way.
package func sameBytes(_ left: String, _ right: String) -> Bool {
  sameBytes(left.utf8.span, right.utf8.span)
}

/// The same for texts that may be missing.
func sameBytes(_ left: String?, _ right: String?) -> Bool {
  guard let left, let right else { return left == nil && right == nil }
  return sameBytes(left, right)
}

/// Whether two stretches of bytes are the same.
func sameBytes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  // Both have so many bytes, and live for the call.
  return unsafe left.withUnsafeBytes { left in
    unsafe right.withUnsafeBytes { right in
      guard let first = left.baseAddress, let second = right.baseAddress else { return true }
      return unsafe memcmp(first, second, left.count) == 0
    }
  }
}

/// The eight bytes from `offset` on.
@inline(__always)
func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
  // Eight bytes of any pattern are a number; that they lie inside is checked.
  unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
}

/// An ASCII letter in lower case, and any other byte as it is.
@inline(__always)
func lowerCase(_ byte: UInt8) -> UInt8 {
  byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}

/// Gives a text's bytes to the standard library's hash, as `sameBytes` sees them.
package func hashBytes(of text: String, into hasher: inout Hasher) {
  var text = text
  text.withUTF8 { utf8 in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(utf8)) }
  hasher.combine(text.utf8.count)
}
