import Glibc

/// The digest of RFC 1321: broken as one, and the name of a thumbnail.
enum MD5 {
  private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]
  private static let sines = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

  /// The digest of a short text, in hexadecimal digits.
  static func hexadecimal(of text: [UInt8]) -> String {
    var bytes = text + [0x80]
    while bytes.count % 64 != 56 { bytes.append(0) }
    for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: (text.count * 8) >> (shift * 8))) }
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    for start in stride(from: 0, to: bytes.count, by: 64) {
      mix((0..<16).map { word(bytes, start + $0 * 4) }, into: &state)
    }
    let digits = Array("0123456789abcdef".utf8)
    let digest = state.flatMap { word in [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) } }
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func word(_ bytes: [UInt8], _ start: Int) -> UInt32 {
    bytes[start..<(start + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func mix(_ words: [UInt32], into state: inout [UInt32]) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    for step in 0..<64 {
      let (mixed, place) =
        switch step / 16 {
        case 0: (b & c | ~b & d, step)
        case 1: (d & b | ~d & c, 5 * step + 1)
        case 2: (b ^ c ^ d, 3 * step + 5)
        default: (c ^ (b | ~d), 7 * step)
        }
      let sum = a &+ mixed &+ sines[step] &+ words[place % 16]
      let shift = shifts[step / 16 * 4 + step % 4]
      (a, b, c, d) = (d, b &+ (sum << shift | sum >> (32 - shift)), b, c)
    }
    for (place, word) in [a, b, c, d].enumerated() { state[place] &+= word }
  }
}
