internal import CCrypto
package import ImgdProgram
internal import ImgdSystem
internal import ImgdWire

/// The keys any of which may sign a target, with HMAC-SHA256.
package struct SigningKeys: Sendable {
  package static let none = SigningKeys(keys: [])

  private static let most = 8

  private let keys: [SigningKey]

  private init(keys: [SigningKey]) { self.keys = keys }

  /// Reads one key per line; blank lines and those that begin with `#` are skipped.
  package init(lines: [UInt8]) throws(SecretFileProblem) {
    // Blanks around a key are not seen in an editor.
    let lines = lines.split(separator: UInt8(ascii: "\n")).map { Array($0.trimmed(of: " \t\r")) }.filter {
      !$0.isEmpty && $0.first != UInt8(ascii: "#")
    }
    guard 1...Self.most ~= lines.count else {
      throw SecretFileProblem(
        "HTTP-Gateway.KeyFile= has \(lines.count) keys, where 1 to \(Self.most) are allowed, one on each line")
    }
    var keys: [SigningKey] = []
    for (place, line) in lines.enumerated() { keys.append(try SigningKey(line, number: place + 1)) }
    self.keys = keys
  }

  /// The keys of the file that `KeyFile=` names.
  package static func read(path: String) throws(SecretFileProblem) -> SigningKeys {
    try SigningKeys(lines: SecretFile(path, for: "HTTP-Gateway.KeyFile").bytes)
  }

  package var isEmpty: Bool { keys.isEmpty }

  /// The signature by the first key, in base64url without padding.
  package func sign(_ text: String) -> String {
    guard let key = keys.first else { preconditionFailure("without a key nothing is signed") }
    return String(decoding: key.signature(of: Array(text.utf8)), as: UTF8.self)
  }

  /// Whether one of the keys has made the signature. Its padding may be there or not.
  package func verifies(_ signature: String, of text: String) -> Bool {
    var given = Array(signature.utf8)
    if given.last == UInt8(ascii: "=") { given.removeLast() }
    let text = Array(text.utf8)
    // Every key is tried, so that the time does not reveal which one it was.
    return keys.reduce(false) { Self.equal(given, $1.signature(of: text)) || $0 }
  }

  private static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    // Both have the same length; the time does not tell where they differ.
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
  }
}

/// One line of the file: the text of a key, or a key of imgproxy with its salt, `imgproxy:<key>:<salt>:<bytes>`.
private struct SigningKey: Sendable {
  private static let shortest = 16
  /// A shorter signature could be guessed.
  private static let bytes = 8...Int(SHA256_DIGEST_LENGTH)
  private static let foreign = Array("imgproxy:".utf8)

  private let key: [UInt8]
  /// What is signed before the target.
  private let salt: [UInt8]
  /// How many bytes of the digest make a signature.
  private let length: Int

  /// The problem names the number of the line, and never the key.
  init(_ line: [UInt8], number: Int) throws(SecretFileProblem) {
    if line.starts(with: Self.foreign) {
      let parts = line.dropFirst(Self.foreign.count).split(
        separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      let length = parts.count == 3 ? decimalNumber(parts[2]) : Self.bytes.upperBound
      guard 2...3 ~= parts.count, let key = Self.bytes(of: parts[0]), let salt = Self.bytes(of: parts[1]),
        let length, Self.bytes.contains(length)
      else {
        throw Self.problem(
          number,
          "is not imgproxy:<key>:<salt> or imgproxy:<key>:<salt>:<bytes>, with the key and the salt in hexadecimal, and"
            + " signatures of \(Self.bytes.lowerBound) to \(Self.bytes.upperBound) bytes")
      }
      (self.key, self.salt, self.length) = (key, salt, length)
    } else {
      (key, salt, length) = (line, [], Self.bytes.upperBound)
    }
    guard key.count >= Self.shortest else {
      throw Self.problem(
        number, "has \(key.count) bytes, and needs at least \(Self.shortest): openssl rand -hex 32 makes one")
    }
  }

  /// In base64url without padding.
  func signature(of text: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    let signed = salt + text
    // The digest has the size that SHA-256 writes.
    unsafe HMAC(EVP_sha256(), key, CInt(key.count), signed, signed.count, &digest, nil)
    var letters: [UInt8] = []
    letters.append(base64: Array(digest.prefix(length)).span)
    return letters.prefix { $0 != UInt8(ascii: "=") }.map { letter in
      switch letter {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: letter
      }
    }
  }

  /// The bytes of hexadecimal digits; nil for none, and for anything else.
  private static func bytes(of digits: ArraySlice<UInt8>) -> [UInt8]? {
    let values = digits.compactMap { Hexadecimal.value(of: $0) }
    guard !values.isEmpty, values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  private static func problem(_ number: Int, _ text: String) -> SecretFileProblem {
    SecretFileProblem("key \(number) of HTTP-Gateway.KeyFile= \(text)")
  }
}
