internal import CCrypto

/// The word that a purge over HTTP needs.
package struct PurgeToken: Sendable {
  /// The fewest bytes that cannot be guessed.
  static let shortest = 16
  static let longest = 1_024

  private let bytes: [UInt8]

  /// Takes the only line of a file's contents.
  package init(_ contents: [UInt8]) throws(SecretFileProblem) {
    let blanks: [UInt8] = [0x20, 0x09, 0x0d, 0x0a]
    var line = contents[...]
    while let last = line.last, blanks.contains(last) { line.removeLast() }
    guard (Self.shortest...Self.longest).contains(line.count), line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw SecretFileProblem(
        message: "the file of HTTP-Gateway.TokenFile must have one line of \(Self.shortest) to "
          + "\(Self.longest) letters, digits and signs, without spaces, as openssl rand -hex 32 writes")
    }
    bytes = Array(line)
  }

  /// Reads the file that `TokenFile=` names.
  package static func read(_ path: String) throws(SecretFileProblem) -> PurgeToken {
    try PurgeToken(SecretFile.read(path, for: "TokenFile"))
  }

  /// Whether the values of `Authorization` are this token, compared in a time that reveals nothing about it.
  func isIn(_ fields: [String]) -> Bool {
    guard fields.count == 1, let field = fields.first else { return false }
    let (scheme, given) = field[...].cut(at: UInt8(ascii: " "))
    guard scheme.lowercased() == "bearer", let given = given.map({ Array($0.utf8) }), given.count == bytes.count else {
      return false
    }
    // Both have the same length.
    return unsafe CRYPTO_memcmp(given, bytes, bytes.count) == 0
  }
}
