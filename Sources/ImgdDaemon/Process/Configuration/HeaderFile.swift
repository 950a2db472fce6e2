import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// A file with header fields: a field a line, `Name: value`, empty lines and those that begin with `#` left out.
enum HeaderFile {
  private static let mostFields = 32

  /// The fields in the bytes of a file, whose name is for messages. They have no value in them.
  static func fields(in bytes: [UInt8], named name: String) throws(SecretFileProblem) -> [HeaderField] {
    var fields: [HeaderField] = []
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let line = line.trimmed(of: " \t\r")
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      do throws(WrongValue) { fields.append(try field(line)) } catch {
        throw SecretFileProblem("\(name): line \(index + 1) \(error.complaint)")
      }
    }
    guard !fields.isEmpty, fields.count <= mostFields,
      Set(fields.map { $0.name.lowercased() }).count == fields.count
    else {
      throw SecretFileProblem("\(name) does not have 1 to \(mostFields) fields, each with a name of its own")
    }
    return fields
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
