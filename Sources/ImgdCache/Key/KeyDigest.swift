internal import CCrypto
internal import ImgdText

/// The digest of the parts of a key, which names the files of its picture.
///
/// Files outlive the program, so the parts and their form never change within one layout of the directory.
package struct KeyDigest: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Digests a key that everybody may see; the empty identifier is the same as none.
  ///
  /// A variant is written after the identifier, even after an empty one, which is otherwise left out.
  package init(url: String, identifier: String?, variant: KeyVariant? = nil) {
    var parts: [UInt8] = []
    parts.reserveCapacity(url.utf8.count + (identifier?.utf8.count ?? 0) + 48)
    appendPart(DiskDirectory.layout, to: &parts)
    appendPart(url, to: &parts)
    let identifier = identifier ?? ""
    if !identifier.isEmpty || variant != nil { appendPart(identifier, to: &parts) }
    if let variant { appendPart(hexDigits(of: variant.high, variant.low), to: &parts) }
    let digest = Digest128(of: parts.span)
    self.init(high: digest.high, low: digest.low)
  }

  /// The last 32 bits of the digest, or 1 where these are zero.
  var tag: UInt32 { max(UInt32(truncatingIfNeeded: low), 1) }

  /// The base of the forms of the picture with this digest: no answer to the same name has it.
  var formBase: UInt32 { max(~tag, 1) }

  /// Reads what `hex` wrote: 32 digits in lower case, nothing else.
  package init?(hex: some StringProtocol) {
    let digits = hex.utf8
    guard digits.count == 32, let high = lowerHex(digits.prefix(16)), let low = lowerHex(digits.suffix(16)) else {
      return nil
    }
    self.init(high: high, low: low)
  }

  package var hex: String { hexDigits(of: high, low) }
}

private func hexDigits(of high: UInt64, _ low: UInt64) -> String {
  var digits: [UInt8] = []
  digits.reserveCapacity(32)
  digits.appendHex(high, digits: 16)
  digits.appendHex(low, digits: 16)
  return String(decoding: digits, as: UTF8.self)
}

extension [UInt8] {
  /// The last hexadecimal digits of a number, in lower case.
  mutating func appendHex(_ number: UInt64, digits: Int) {
    append(addingCapacity: digits) { (text: inout OutputSpan<UInt8>) in
      for place in (0..<digits).reversed() {
        let digit = UInt8(truncatingIfNeeded: number >> (place * 4)) & 15
        text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      }
    }
  }
}

/// Appends a part with its length in front, so that it cannot be taken for a piece of its neighbour.
func appendPart(_ part: String, to bytes: inout [UInt8]) {
  let count = UInt32(part.utf8.count)
  for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
  bytes.append(contentsOf: part.utf8)
}

/// The number that up to 16 lower-case hexadecimal digits stand for; nil for anything else.
func lowerHex(_ digits: some Collection<UInt8>) -> UInt64? {
  guard !digits.isEmpty, digits.count <= 16 else { return nil }
  var number: UInt64 = 0
  for digit in digits {
    let letter = digit &- UInt8(ascii: "a")
    guard let value = decimalValue(digit) ?? (letter < 6 ? Int(letter) + 10 : nil) else { return nil }
    number = number << 4 | UInt64(value)
  }
  return number
}

/// The first 128 bits of a SHA-256: nobody can find two texts that share them.
package struct Digest128: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Fetched once: the short calls of the library look for the algorithm each time.
  nonisolated(unsafe) private static let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil)

  package init(of bytes: Span<UInt8>) {
    let digest = Self.sha256(of: bytes)
    high = UInt64(bigEndian: digest.0)
    low = UInt64(bigEndian: digest.1)
  }

  /// The whole digest, each word in the order of its bytes.
  static func sha256(of bytes: Span<UInt8>) -> (UInt64, UInt64, UInt64, UInt64) {
    var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    let isMade = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe withUnsafeMutableBytes(of: &digest) { digest in
        let start = unsafe digest.bindMemory(to: UInt8.self).baseAddress
        return unsafe EVP_Digest(bytes.baseAddress, bytes.count, start, nil, Self.algorithm, nil) == 1
      }
    }
    precondition(isMade, "libcrypto has SHA-256")
    return digest
  }
}
