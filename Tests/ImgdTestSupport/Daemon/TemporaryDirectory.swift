import Glibc

/// A directory for one test.
package enum TemporaryDirectory {
  package static func make() throws -> String {
    var template = Array("/tmp/imgd-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: errno \(errno)") }
    return String(cString: template)
  }

  package static func remove(_ path: String) {
    nftw(path, { path, _, _, _ in path.map { Glibc.remove($0) } ?? 0 }, 16, FTW_DEPTH | FTW_PHYS)
  }
}

package func write(_ text: String, to path: String) throws {
  guard let file = fopen(path, "w") else { throw TestFailure("\(path): errno \(errno)") }
  fputs(text, file)
  fclose(file)
}

package func read(_ path: String) -> String? {
  readBytes(path).map { String(decoding: $0, as: UTF8.self) }
}

package func readBytes(_ path: String) -> [UInt8]? {
  guard let file = fopen(path, "r") else { return nil }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 65_536)
  while case let count = fread(&part, 1, part.count, file), count > 0 { bytes += part[..<count] }
  return bytes
}
