// The files that sections `[Origin …]` name: header fields, and the keys of accounts.
//
// They hold credentials, so nobody outside their owner and group may read them, and no message says what is in them.

import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdTransfer

/// A key of a section that names a file.
struct OriginFileKey<Value: Sendable & Equatable>: Sendable {
  let name: String
  /// Where the configuration has the name of the file, and what is in it.
  let file: any WritableKeyPath<Configuration.Origin, String> & Sendable
  let contents: any WritableKeyPath<Configuration.Origin, Configuration.FileContents<Value>?> & Sendable
  /// Reads what is in a file, which messages call by the name.
  let read: @Sendable (_ bytes: [UInt8], _ name: String) throws(SecretFileProblem) -> Value

  func fullName(of pattern: OriginPattern) -> String { "Origin \(pattern.text).\(name)" }
}

extension OriginFileKey where Value == [HeaderField] {
  static var headers: Self {
    Self(name: "HeaderFile", file: \.headerFile, contents: \.headers, read: HeaderFile.fields)
  }
}

extension OriginFileKey where Value == SigningCredentials {
  static var credentials: Self {
    Self(name: "CredentialsFile", file: \.credentialsFile, contents: \.credentials) {
      bytes, name throws(SecretFileProblem) in
      do throws(CredentialsFileProblem) {
        return try CredentialsFile.credentials(in: String(decoding: bytes, as: UTF8.self), named: name)
      } catch { throw SecretFileProblem(error.message) }
    }
  }
}

extension Configuration.Origin {
  /// The files that it names, as it does, by their keys.
  var files: [(key: String, name: String)] {
    [("HeaderFile", headerFile), ("CredentialsFile", credentialsFile)].filter { !$0.1.isEmpty }
  }
}

/// Where such files are, and what is in them.
struct OriginFiles: Sendable {
  /// The directory of the credentials that the service manager has passed; nil for none.
  let credentials: String?
  /// Whether the service itself asks: somebody else who checks its configuration does not have its credentials.
  let isServing: Bool

  init(_ options: CommandLineOptions, environment: [String: String]) {
    credentials = environment["CREDENTIALS_DIRECTORY"]
    isServing = options.action == .run
  }

  /// A file that is another one than when it was last read.
  struct Change: Sendable {
    let pattern: OriginPattern
    /// Gives a section what holds from now on; false if it names another file by now.
    let adopt: @Sendable (inout Configuration.Origin) -> Bool
    /// What is wrong with the file; nil if it has been read.
    let problem: String?
  }

  /// The files that have changed.
  func changes(since origins: [OriginPattern: Configuration.Origin]) -> [Change] {
    origins.flatMap { pattern, origin in
      [change(of: .headers, in: origin, of: pattern), change(of: .credentials, in: origin, of: pattern)]
        .compactMap { $0 }
    }
  }

  private func change<Value>(of key: OriginFileKey<Value>, in origin: Configuration.Origin, of pattern: OriginPattern)
    -> Change?
  {
    let name = origin[keyPath: key.file]
    let former = origin[keyPath: key.contents]
    let stamp = path(of: name).map(SecretFile.stamp) ?? 0
    guard !name.isEmpty, stamp != former?.stamp else { return nil }
    let contents: Configuration.FileContents<Value>?
    var problem: String?
    do throws(SecretFileProblem) { contents = try read(key, name, of: pattern) } catch {
      problem = error.message
      contents = former.map { Configuration.FileContents(value: $0.value, stamp: stamp, problem: problem) }
    }
    return Change(
      pattern: pattern,
      adopt: { origin in
        guard origin[keyPath: key.file] == name else { return false }
        origin[keyPath: key.contents] = contents
        return true
      }, problem: problem)
  }

  /// Fills in what the files have; returns what is wrong with them.
  func complete(_ configuration: inout Configuration, _ place: (_ key: String) -> String) -> [String] {
    var problems: [String] = []
    for (pattern, origin) in configuration.origins.sorted(by: { $0.key.text < $1.key.text }) {
      var origin = origin
      problems += complete(.headers, in: &origin, of: pattern, place)
      problems += complete(.credentials, in: &origin, of: pattern, place)
      configuration.origins[pattern] = origin
    }
    return problems
  }

  private func complete<Value>(
    _ key: OriginFileKey<Value>, in origin: inout Configuration.Origin, of pattern: OriginPattern,
    _ place: (_ key: String) -> String
  ) -> [String] {
    let name = origin[keyPath: key.file]
    guard !name.isEmpty, isServing || credentials != nil || name.hasPrefix("/") else { return [] }
    do throws(SecretFileProblem) {
      origin[keyPath: key.contents] = try read(key, name, of: pattern)
      return []
    } catch { return ["\(place(key.fullName(of: pattern))): \(error.message)"] }
  }

  /// The path of a file, by its value in the configuration; nil for a credential where there are none.
  func path(of name: String) -> String? { name.hasPrefix("/") ? name : credentials.map { "\($0)/\(name)" } }

  private func read<Value>(_ key: OriginFileKey<Value>, _ name: String, of pattern: OriginPattern)
    throws(SecretFileProblem) -> Configuration.FileContents<Value>
  {
    let fullName = key.fullName(of: pattern)
    guard let path = path(of: name) else {
      throw SecretFileProblem(
        "\(fullName)=\(name): the service has no credentials: write LoadCredential=\(name):/path/of/the/file in its unit, or a path here"
      )
    }
    let file = try SecretFile(path, for: fullName)
    return Configuration.FileContents(value: try key.read(file.bytes, "\(fullName)=\(path)"), stamp: file.stamp)
  }
}
