// The file that AWS's tools share, of which the profile `default` counts:
//
//   [default]
//   aws_access_key_id = …
//   aws_secret_access_key = …
//   aws_session_token = …      (for keys of a session)
//
// Profiles of other names, further settings, and lines that begin with `#` or `;` are for others.

/// Reads credentials from a file of that form.
package struct CredentialsFile {
  private static let profile = "default"
  private static let names = (
    accessKey: "aws_access_key_id", secret: "aws_secret_access_key", token: "aws_session_token"
  )

  private let name: String
  /// The line on which the profile begins.
  private var start: Int?
  private var isInProfile = false
  private var values: [String: String] = [:]

  private init(named name: String) { self.name = name }

  /// The credentials in the text of a file, whose name is for messages. They have no value in them.
  package static func credentials(in text: String, named name: String) throws(CredentialsFileProblem)
    -> SigningCredentials
  {
    var file = CredentialsFile(named: name)
    for (index, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      try file.addLine(trimmed(line), number: index + 1)
    }
    return try file.credentials()
  }

  private mutating func addLine(_ line: Substring.UTF8View, number: Int) throws(CredentialsFileProblem) {
    guard let first = line.first, !"#;".utf8.contains(first) else { return }
    if first == UInt8(ascii: "[") { return try beginProfile(line, number: number) }
    guard isInProfile else { return }
    guard let sign = line.firstIndex(of: UInt8(ascii: "=")) else {
      throw problem(
        number, "a line of the profile [\(Self.profile)] has no =: write it like \(Self.names.accessKey) = …")
    }
    let key = String(Substring(Self.trimmed(line[..<sign]))).lowercased()
    guard [Self.names.accessKey, Self.names.secret, Self.names.token].contains(key) else { return }
    let value = Self.trimmed(line[line.index(after: sign)...])
    guard values[key] == nil else { throw problem(number, "\(key) is there twice") }
    guard !value.isEmpty else { throw problem(number, "\(key) has no value") }
    guard value.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw problem(number, "the value of \(key) has a blank or another character that no such value has")
    }
    values[key] = String(Substring(value))
  }

  private mutating func beginProfile(_ line: Substring.UTF8View, number: Int) throws(CredentialsFileProblem) {
    guard line.last == UInt8(ascii: "]") else {
      throw problem(number, "the name of a profile has no ] behind it: write it like [\(Self.profile)]")
    }
    isInProfile = String(Substring(Self.trimmed(line.dropFirst().dropLast()))) == Self.profile
    guard isInProfile else { return }
    if let start { throw problem(number, "the profile [\(Self.profile)] is there twice: it begins on line \(start)") }
    start = number
  }

  private func credentials() throws(CredentialsFileProblem) -> SigningCredentials {
    guard let start else { throw CredentialsFileProblem("\(name) has no profile [\(Self.profile)]") }
    func value(_ key: String) throws(CredentialsFileProblem) -> String {
      guard let value = values[key] else { throw problem(start, "the profile [\(Self.profile)] has no \(key)") }
      return value
    }
    return SigningCredentials(
      accessKey: try value(Self.names.accessKey), secret: try value(Self.names.secret),
      sessionToken: values[Self.names.token])
  }

  private func problem(_ line: Int, _ text: String) -> CredentialsFileProblem {
    CredentialsFileProblem("\(name):\(line): \(text)")
  }

  private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    guard let last = text.lastIndex(where: { !isBlank($0) }) else { return text.prefix(0) }
    return text[...last].drop(while: isBlank)
  }
}

/// What is wrong with a file of credentials.
package struct CredentialsFileProblem: Error, Equatable {
  /// A sentence with the file and the line, and without any value.
  package let message: String

  init(_ message: String) { self.message = message }
}
