internal import CBase64

/// Base64 of RFC 4648 with padding, written straight into the bytes of a reply: a line with a picture in it consists
/// mostly of this.
///
/// Where the processor has vector instructions, they take 24 bytes at a time. Elsewhere six bytes become eight letters,
/// by four look-ups in a table of all pairs of letters.
enum Base64 {
  private static let letters: [UInt8] = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The two letters of each number of twelve bits, the first in the lower byte.
  private static let pairs: [UInt16] = (0..<4_096).map { bits in
    UInt16(letters[bits >> 6]) | UInt16(letters[bits & 63]) << 8
  }

  static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
    text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { (text: inout OutputSpan<UInt8>) in
      appendRest(of: bytes, from: appendVectors(of: bytes, to: &text), to: &text)
    }
  }

  private static func appendRest(of bytes: Span<UInt8>, from start: Int, to text: inout OutputSpan<UInt8>) {
    let rest = bytes.extracting(droppingFirst: start)
    appendGroups(of: rest, from: appendWords(of: rest, to: &text), to: &text)
  }

  /// Encodes as many bytes as the vector instructions take; returns how many those were.
  private static func appendVectors(of bytes: Span<UInt8>, to text: inout OutputSpan<UInt8>) -> Int {
    // Both stay within their bounds: the room is for the letters of all bytes.
    unsafe bytes.withUnsafeBufferPointer { source in
      unsafe text.withUnsafeMutableBufferPointer { room, written in
        guard let from = source.baseAddress, let to = room.baseAddress else { return 0 }
        let done = unsafe base64_encode_vectors(from, source.count, to)
        written = done / 3 * 4
        return done
      }
    }
  }

  /// Encodes groups of six bytes, as long as two more follow; returns how many bytes those were.
  private static func appendWords(of bytes: Span<UInt8>, to text: inout OutputSpan<UInt8>) -> Int {
    let sixes = max(bytes.count - 2, 0) / 6
    let pairs = pairs.span
    // Each word is read within the bytes, and written within the room that was asked for.
    unsafe bytes.withUnsafeBytes { source in
      unsafe text.withUnsafeMutableBufferPointer { room, written in
        let target = unsafe UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: room[written...]))
        for six in 0..<sixes {
          let word = unsafe source.loadUnaligned(fromByteOffset: 6 * six, as: UInt64.self).bigEndian
          unsafe target.storeBytes(of: eightLetters(word, pairs).littleEndian, toByteOffset: 8 * six, as: UInt64.self)
        }
        written += 8 * sixes
      }
    }
    return 6 * sixes
  }

  /// The letters of the upper six bytes of a word.
  @inline(__always) private static func eightLetters(_ word: UInt64, _ pairs: Span<UInt16>) -> UInt64 {
    UInt64(pairs[Int(word >> 52)]) | UInt64(pairs[Int(word >> 40 & 4_095)]) << 16 | UInt64(
      pairs[Int(word >> 28 & 4_095)]) << 32 | UInt64(pairs[Int(word >> 16 & 4_095)]) << 48
  }

  /// Encodes the bytes from `start` on in groups of three, the last one padded to four letters.
  private static func appendGroups(of bytes: Span<UInt8>, from start: Int, to text: inout OutputSpan<UInt8>) {
    let letters = letters.span
    for index in stride(from: start, to: bytes.count, by: 3) {
      let left = bytes.count - index
      let group =
        Int(bytes[index]) << 16 | (left > 1 ? Int(bytes[index + 1]) << 8 : 0) | (left > 2 ? Int(bytes[index + 2]) : 0)
      text.append(letters[group >> 18])
      text.append(letters[group >> 12 & 63])
      text.append(left > 1 ? letters[group >> 6 & 63] : UInt8(ascii: "="))
      text.append(left > 2 ? letters[group & 63] : UInt8(ascii: "="))
    }
  }
}

extension [UInt8] {
  /// Appends the letters of base64 that stand for the bytes.
  package mutating func append(base64 bytes: Span<UInt8>) { Base64.append(bytes, to: &self) }
}
