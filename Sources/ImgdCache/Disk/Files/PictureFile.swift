internal import ImgdText

/// One version of a picture, as a file: the digest of its key, its number, and the kind of its bytes.
///
/// The next version has another number, so the meaning of a name never changes.
package struct PictureFile: Hashable, Sendable {
  package let digest: KeyDigest
  /// The entry's number, never used twice for one digest.
  package let number: UInt32
  /// The kind of the bytes, as an extension without its dot.
  package let suffix: String

  /// Nil for a suffix that is not one to eight lower-case letters and digits.
  package init?(digest: KeyDigest, number: UInt32, suffix: String) {
    guard isSuffix(suffix.utf8) else { return nil }
    self.digest = digest
    self.number = number
    self.suffix = suffix
  }

  /// Reads a name as `name` writes it, and accepts no other spelling.
  package init?(name: String) {
    let bytes = name.utf8
    guard bytes.count <= Self.longestName, let dash = bytes.firstIndex(of: UInt8(ascii: "-")),
      let dot = bytes.firstIndex(of: UInt8(ascii: ".")), dash < dot, let digest = KeyDigest(hex: name[..<dash]),
      let number = plainNumber(bytes[bytes.index(after: dash)..<dot])
    else { return nil }
    self.init(digest: digest, number: number, suffix: String(name[name.index(after: dot)...]))
  }

  /// 32 digits, a dash, 8 digits, a dot and 8 letters.
  private static let longestName = 50

  package var name: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.longestName)
    appendName(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Its path relative to the directory of the layout.
  package var relativePath: String { Subdirectory.name(subdirectory) + "/" + name }

  /// Its path in a directory of the layout. Each hit by path on a picture that only the disk has needs one, so
  /// its bytes are written into one buffer, without joining strings.
  package func path(in layout: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(layout.utf8.count + 4 + Self.longestName)
    bytes.append(contentsOf: layout.utf8)
    bytes.append(UInt8(ascii: "/"))
    bytes.appendHex(digest.high >> 56, digits: 2)
    bytes.append(UInt8(ascii: "/"))
    appendName(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func appendName(to bytes: inout [UInt8]) {
    bytes.appendHex(digest.high, digits: 16)
    bytes.appendHex(digest.low, digits: 16)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHex(UInt64(number), digits: max((35 - number.leadingZeroBitCount) / 4, 1))
    bytes.append(UInt8(ascii: "."))
    bytes.append(contentsOf: suffix.utf8)
  }

  /// The number of the directory that it lies in: the first two digits of the digest.
  var subdirectory: Int { Subdirectory.number(of: digest) }
}

private func isSuffix(_ bytes: some Collection<UInt8>) -> Bool {
  (1...8).contains(bytes.count) && bytes.allSatisfy { decimalValue($0) != nil || $0 &- UInt8(ascii: "a") < 26 }
}

/// A hexadecimal number of 32 bits without leading zeros.
private func plainNumber(_ digits: some Collection<UInt8>) -> UInt32? {
  guard digits.first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
  return lowerHex(digits).flatMap { UInt32(exactly: $0) }
}
