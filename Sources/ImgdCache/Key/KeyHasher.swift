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
