/// Base64 of RFC 4648 with padding, written straight into the bytes of an answer.
enum Base64 {
  private static let alphabet: InlineArray<64, UInt8> = {
    var letters = InlineArray<64, UInt8>(repeating: 0)
    for (index, letter) in letterText.utf8.enumerated() { letters[index] = letter }
    return letters
  }()

  private static let letterText =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
    let alphabet = alphabet
    let whole = bytes.count - bytes.count % 3
    text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { (text: inout OutputSpan<UInt8>) in
      var index = 0
      while index < whole {
        let group =
          UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
          | UInt32(bytes[index + 2])
        append(group, letters: 4, of: alphabet, to: &text)
        index += 3
      }
      appendRemainder(of: bytes, from: whole, in: alphabet, to: &text)
    }
  }

  private static func appendRemainder(
    of bytes: Span<UInt8>, from start: Int, in alphabet: borrowing InlineArray<64, UInt8>,
    to text: inout OutputSpan<UInt8>
  ) {
    let left = bytes.count - start
    guard left > 0 else { return }
    var group = UInt32(bytes[start]) << 16
    if left == 2 { group |= UInt32(bytes[start + 1]) << 8 }
    append(group, letters: left + 1, of: alphabet, to: &text)
    for _ in left..<3 { text.append(UInt8(ascii: "=")) }
  }

  @inline(__always)
  private static func append(
    _ group: UInt32, letters: Int, of alphabet: borrowing InlineArray<64, UInt8>,
    to text: inout OutputSpan<UInt8>
  ) {
    for letter in 0..<letters {
      text.append(alphabet[Int(group >> UInt32(18 - 6 * letter) & 63)])
    }
  }
}
