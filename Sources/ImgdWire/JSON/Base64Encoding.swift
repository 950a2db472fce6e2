/// Base64 of RFC 4648 with padding, written straight into the bytes of a reply.
enum Base64 {
  private static let alphabet: [UInt8] = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
    let letters = alphabet.span
    let whole = bytes.count - bytes.count % 3
    text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { (text: inout OutputSpan<UInt8>) in
      // The capacity suffices for every letter, and the buffer is filled from its start without gaps.
      unsafe text.withUnsafeMutableBufferPointer { room, written in
        for index in stride(from: 0, to: whole, by: 3) {
          let group =
            Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
          unsafe room[written] = letters[group >> 18]
          unsafe room[written + 1] = letters[group >> 12 & 63]
          unsafe room[written + 2] = letters[group >> 6 & 63]
          unsafe room[written + 3] = letters[group & 63]
          written += 4
        }
      }
      appendRemainder(of: bytes, from: whole, in: letters, to: &text)
    }
  }

  /// The one or two bytes after the last whole group, padded to four letters.
  private static func appendRemainder(
    of bytes: Span<UInt8>, from start: Int, in letters: Span<UInt8>,
    to text: inout OutputSpan<UInt8>
  ) {
    let left = bytes.count - start
    guard left > 0 else { return }
    let group = Int(bytes[start]) << 16 | (left == 2 ? Int(bytes[start + 1]) << 8 : 0)
    text.append(letters[group >> 18])
    text.append(letters[group >> 12 & 63])
    text.append(left == 2 ? letters[group >> 6 & 63] : UInt8(ascii: "="))
    text.append(UInt8(ascii: "="))
  }
}
