// The files with header fields that sections `[Origin …]` name: a field a line, `Name: value`, empty lines and those that
// begin with `#` left out.
//
// They hold credentials, so nobody outside their owner and group may read them, and no message says what is in them.

import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// Where such files are, and what is in them.
struct HeaderFiles: Sendable {
  private static let mostFields = 32

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
    let name: String
    /// What holds from now on.
    let headers: Configuration.OriginHeaders
    /// What is wrong with the file; nil if it has been read.
    let problem: String?
  }

  /// The files that have changed.
  func changes(since origins: [OriginPattern: Configuration.Origin]) -> [Change] {
    var changes: [Change] = []
    for (pattern, origin) in origins where !origin.headerFile.isEmpty {
      let name = origin.headerFile
      let stamp = path(of: name).map(SecretFile.stamp) ?? 0
      guard stamp != origin.headers?.stamp else { continue }
      do throws(SecretFileProblem) {
        changes.append(Change(pattern: pattern, name: name, headers: try read(name, of: pattern), problem: nil))
      } catch {
        let former = Configuration.OriginHeaders(
          fields: origin.headers?.fields ?? [], stamp: stamp, problem: error.message)
        changes.append(Change(pattern: pattern, name: name, headers: former, problem: error.message))
      }
    }
    return changes
  }

  /// Fills in what the files have; returns what is wrong with them.
  func complete(_ configuration: inout Configuration, _ place: (_ key: String) -> String) -> [String] {
    var problems: [String] = []
    for pattern in configuration.origins.keys.sorted(by: { $0.text < $1.text }) {
      guard let name = configuration.origins[pattern]?.headerFile, !name.isEmpty else { continue }
      guard isServing || credentials != nil || name.hasPrefix("/") else { continue }
      do throws(SecretFileProblem) {
        configuration.origins[pattern]?.headers = try read(name, of: pattern)
      } catch { problems.append("\(place(Self.key(of: pattern))): \(error.message)") }
    }
    return problems
  }

  private static func key(of pattern: OriginPattern) -> String { "Origin \(pattern.text).HeaderFile" }

  /// The path of a file, by its value in the configuration; nil for a credential where there are none.
  func path(of name: String) -> String? { name.hasPrefix("/") ? name : credentials.map { "\($0)/\(name)" } }

  private func read(_ name: String, of pattern: OriginPattern) throws(SecretFileProblem) -> Configuration.OriginHeaders
  {
    let key = Self.key(of: pattern)
    guard let path = path(of: name) else {
      throw SecretFileProblem(
        "\(key)=\(name): the service has no credentials: write LoadCredential=\(name):/path/of/the/file in its unit, or a path here"
      )
    }
    let file = try SecretFile(path, for: key)
    var fields: [HeaderField] = []
    for (index, line) in file.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
    {
      let line = line.trimmed(of: " \t\r")
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      do throws(WrongValue) { fields.append(try Self.field(line)) } catch {
        throw SecretFileProblem("\(key)=\(path): line \(index + 1) \(error.complaint)")
      }
    }
    guard !fields.isEmpty, fields.count <= Self.mostFields,
      Set(fields.map { $0.name.lowercased() }).count == fields.count
    else {
      throw SecretFileProblem(
        "\(key)=\(path) does not have 1 to \(Self.mostFields) fields, each with a name of its own")
    }
    return Configuration.OriginHeaders(fields: fields, stamp: file.stamp)
  }

  private static func field(_ line: ArraySlice<UInt8>) throws(WrongValue) -> HeaderField {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
      let name = String(validating: line[..<colon], as: UTF8.self),
      let value = String(validating: line[(colon + 1)...].trimmed(of: " \t"), as: UTF8.self), !value.isEmpty
    else { throw WrongValue("is not a field: write Name: value") }
    switch RequestHeader.problem(name: name, value: value) {
    case .noName: throw WrongValue("has no name of a field before its colon")
    case .ofDaemon: throw WrongValue("has \(name), which only the daemon sets")
    case .controlCharacter: throw WrongValue("has a control character in its value")
    case nil: break
    }
    // Conditions are about what is stored, and the cache would not know of them.
    guard !name.lowercased().hasPrefix("if-") else { throw WrongValue("has \(name), which only the daemon sets") }
    return HeaderField(name, value)
  }
}
