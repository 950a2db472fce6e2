import Glibc

/// SHA-256 and its HMAC, written down from FIPS 180-4 and RFC 2104, so that what libcrypto has made is judged by
/// something else.
enum PlainSHA256 {
  private static let primes: [UInt32] = (2...311).filter { number in
    !(2..<number).contains { number % $0 == 0 }
  }
  /// The first 32 bits of the fractions of the cube roots, and of the square roots, of the first primes.
  private static let constants = primes.map { fraction(cbrt(Double($0))) }
  private static let beginning = primes.prefix(8).map { fraction(Double($0).squareRoot()) }

  private static func fraction(_ root: Double) -> UInt32 {
    UInt32((root - root.rounded(.down)) * 4_294_967_296)
  }

  static func digest(_ text: [UInt8]) -> [UInt8] {
    var padded = text + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    padded += (0..<8).map { UInt8(truncatingIfNeeded: (text.count * 8) >> (56 - $0 * 8)) }
    var state = beginning
    for start in stride(from: 0, to: padded.count, by: 64) {
      add(padded[start..<start + 64], to: &state)
    }
    return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - $0 * 8)) } }
  }

  // Without arrays in its loops, since thousands of requests are judged.
  private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
    let constants = constants
    var words = [UInt32](repeating: 0, count: 64)
    for index in 0..<16 {
      let start = block.startIndex + index * 4
      words[index] = UInt32(block[start]) << 24 | UInt32(block[start + 1]) << 16
      words[index] |= UInt32(block[start + 2]) << 8 | UInt32(block[start + 3])
    }
    for index in 16..<64 {
      let (early, late) = (words[index - 15], words[index - 2])
      let first = turned(early, 7) ^ turned(early, 18) ^ early >> 3
      let second = turned(late, 17) ^ turned(late, 19) ^ late >> 10
      words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let mixed = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
      let one = h &+ mixed &+ (e & f ^ ~e & g) &+ constants[index] &+ words[index]
      let two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) &+ (a & b ^ a & c ^ b & c)
      (a, b, c, d, e, f, g, h) = (one &+ two, a, b, c, d &+ one, e, f, g)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] = state[index] &+ word }
  }

  private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  static func hmac(_ text: [UInt8], key: [UInt8]) -> [UInt8] {
    let short = key.count > 64 ? digest(key) : key
    let padded = short + [UInt8](repeating: 0, count: 64 - short.count)
    return digest(padded.map { $0 ^ 0x5c } + digest(padded.map { $0 ^ 0x36 } + text))
  }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
