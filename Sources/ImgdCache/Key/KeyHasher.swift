import Glibc

/// A seeded hash of 64 bits over the parts of a key.
///
/// It takes in sixteen bytes a step by folding a product of 128 bits. The seed is random in every
/// process, so nobody can prepare URLs that collide. The length of each part is hashed too, so the same
/// bytes divided into other parts have another hash.
struct KeyHasher {
  typealias Seed = (UInt64, UInt64)

  private let secret: UInt64
  private var state: UInt64

  init(_ seed: Seed) {
    secret = seed.0
    state = seed.1
  }

  /// Draws odd numbers from the kernel: a factor must not be zero.
  static func randomSeed() -> Seed { (UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1) }

  mutating func combine(_ number: UInt64) { state = fold(state ^ number, secret) }

  mutating func combine(_ text: String) { combine(text.utf8.span) }

  mutating func combine(_ bytes: Span<UInt8>) {
    var offset = 0
    while bytes.count - offset > 16 {
      absorb(word(bytes, offset), word(bytes, offset + 8))
      offset += 16
    }
    absorbEnd(bytes, from: offset)
    combine(UInt64(bytes.count))
  }

  func finish() -> UInt64 { fold(state, secret) }

  /// Takes in the last sixteen bytes or fewer; words overlap where that saves looking at single bytes.
  private mutating func absorbEnd(_ bytes: Span<UInt8>, from offset: Int) {
    let count = bytes.count - offset
    if bytes.count >= 16 {
      absorb(word(bytes, bytes.count - 16), word(bytes, bytes.count - 8))
    } else if count >= 8 {
      absorb(word(bytes, offset), word(bytes, bytes.count - 8))
    } else {
      var last: UInt64 = 0
      for index in offset..<bytes.count { last = last << 8 | UInt64(bytes[index]) }
      absorb(last, 0)
    }
  }

  private mutating func absorb(_ first: UInt64, _ second: UInt64) { state = fold(first ^ secret, second ^ state) }
}

/// The two halves of a product, folded into one word.
@inline(__always) func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}

/// Whether two texts are the same bytes.
///
/// `String`'s own equality compares characters, which may be encoded in more than one way.
package func sameBytes(_ left: String, _ right: String) -> Bool { sameBytes(left.utf8.span, right.utf8.span) }

/// Whether two texts are the same bytes, or both missing.
func sameBytes(_ left: String?, _ right: String?) -> Bool {
  guard let left, let right else { return left == nil && right == nil }
  return sameBytes(left, right)
}

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

func eachOnceInByteOrder(_ texts: [String]) -> [String] {
  var once: [String] = []
  for text in texts.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
    if let last = once.last, sameBytes(last, text) { continue }
    once.append(text)
  }
  return once
}

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
