import Glibc

// What a checked token says. A token that the scanner has passed cannot be malformed.

extension JSONToken {
  /// The text of a string token.
  func string(in bytes: Span<UInt8>) -> String {
    let content = bytes.extracting(start + 1..<end - 1)
    if hasEscapes { return String(decoding: unescaped(content), as: UTF8.self) }
    // The span is lent for the call, and the scanner has checked its UTF-8.
    return unsafe content.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// The token as it stands in the line, cut for a message.
  func excerpt(in bytes: Span<UInt8>, longest: Int = 80) -> String {
    let content = bytes.extracting(start..<min(end, start + longest))
    let text = unsafe content.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    return end - start > longest ? text + "…" : text
  }

  /// The value of a number token that is a whole number, however it is written.
  func integer(in bytes: Span<UInt8>) -> Int64? {
    switch kind {
    case .integer: return Int64(excerpt(in: bytes, longest: end - start))
    case .number: return number(in: bytes).flatMap { Int64(exactly: $0) }
    default: return nil
    }
  }

  /// The value of a number token; nil when it is beyond what a double holds.
  func number(in bytes: Span<UInt8>) -> Double? {
    guard kind == .integer || kind == .number else { return nil }
    return Double(excerpt(in: bytes, longest: end - start)).flatMap { $0.isFinite ? $0 : nil }
  }

  private func unescaped(_ content: Span<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var index = 0
    while index < content.count {
      guard content[index] == UInt8(ascii: "\\") else {
        result.append(content[index])
        index += 1
        continue
      }
      index += appendEscape(at: index, of: content, to: &result)
    }
    return result
  }

  /// Appends what an escape stands for; answers how many bytes it has.
  private func appendEscape(
    at index: Int, of content: Span<UInt8>, to result: inout [UInt8]
  ) -> Int {
    switch content[index + 1] {
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "u"): return appendUnicode(at: index, of: content, to: &result)
    default: result.append(content[index + 1])
    }
    return 2
  }

  private func appendUnicode(
    at index: Int, of content: Span<UInt8>, to result: inout [UInt8]
  ) -> Int {
    let unit = codeUnit(at: index + 2, of: content)
    let isPair = 0xD800...0xDBFF ~= unit
    let low = isPair ? codeUnit(at: index + 8, of: content) : 0
    let value = isPair ? 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00) : unit
    if let scalar = Unicode.Scalar(value) {
      result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
    return isPair ? 12 : 6
  }

  private func codeUnit(at index: Int, of content: Span<UInt8>) -> UInt32 {
    (0..<4).reduce(0) { $0 << 4 | (hexDigit(content[index + $1]) ?? 0) }
  }
}
