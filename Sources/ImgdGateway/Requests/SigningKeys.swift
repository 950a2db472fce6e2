internal import CCrypto
internal import ImgdSystem
internal import ImgdWire

/// The keys any of which may sign a target, with HMAC-SHA256.
package struct SigningKeys: Sendable {
  package static let none = SigningKeys(keys: [])

  private static let shortest = 16
  private static let most = 8

  private let keys: [[UInt8]]

  private init(keys: [[UInt8]]) { self.keys = keys }

  /// Reads one key per line; blank lines and those that begin with `#` are skipped.
  package init(lines: [UInt8]) throws(SecretFileProblem) {
    // Blanks around a key are not seen in an editor.
    keys = lines.split(separator: UInt8(ascii: "\n")).map { Array($0.trimmed(of: " \t\r")) }.filter {
      !$0.isEmpty && $0.first != UInt8(ascii: "#")
    }
    if let short = keys.firstIndex(where: { $0.count < Self.shortest }) {
      throw SecretFileProblem(
        message: "key \(short + 1) of HTTP-Gateway.KeyFile= has \(keys[short].count) bytes, and needs at least"
          + " \(Self.shortest): openssl rand -hex 32 makes one")
    }
    guard 1...Self.most ~= keys.count else {
      throw SecretFileProblem(
        message: "HTTP-Gateway.KeyFile= has \(keys.count) keys, where 1 to \(Self.most) are allowed, one on each line")
    }
  }

  /// The keys of the file that `KeyFile=` names.
  package static func read(path: String) throws(SecretFileProblem) -> SigningKeys {
    try SigningKeys(lines: SecretFile.read(path, for: "KeyFile"))
  }

  package var isEmpty: Bool { keys.isEmpty }

  /// The signature by the first key, in base64url without padding.
  package func sign(_ text: String) -> String {
    guard let key = keys.first else { preconditionFailure("without a key nothing is signed") }
    return String(decoding: Self.signature(of: Array(text.utf8), by: key), as: UTF8.self)
  }

  /// Whether one of the keys has made the signature. Its padding may be there or not.
  package func verifies(_ signature: String, of text: String) -> Bool {
    var given = Array(signature.utf8)
    if given.last == UInt8(ascii: "=") { given.removeLast() }
    let text = Array(text.utf8)
    // Every key is tried, so that the time does not reveal which one it was.
    return keys.reduce(false) { Self.equal(given, Self.signature(of: text, by: $1)) || $0 }
  }

  private static func signature(of text: [UInt8], by key: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    // The digest has the size that SHA-256 writes.
    unsafe HMAC(EVP_sha256(), key, CInt(key.count), text, text.count, &digest, nil)
    var letters: [UInt8] = []
    letters.append(base64: digest.span)
    return letters.prefix { $0 != UInt8(ascii: "=") }.map { letter in
      switch letter {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: letter
      }
    }
  }

  private static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    // Both have the same length; the time does not tell where they differ.
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
  }
}
