import Glibc

/// A directory for one test, removed with this object.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() {
    do { path = try Self.make() } catch { preconditionFailure("\(error)") }
  }

  deinit { Self.remove(path) }

  /// Makes a directory that the caller removes.
  package static func make() throws -> String {
    var template = Array("/tmp/imgd-test-XXXXXX".utf8CString)
    guard let path = mkdtemp(&template) else { throw TestFailure("mkdtemp: errno \(errno)") }
    let directory = String(cString: path)
    LeftBehind.note(directory)
    return directory
  }

  /// Removes the directory and everything below it.
  package static func remove(_ path: String) {
    for name in names(in: path) {
      let child = path + "/" + name
      if unlink(child) != 0 { remove(child) }
    }
    rmdir(path)
    LeftBehind.forget(path)
  }

  /// The names in a directory, in no order; none when it cannot be read.
  package static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}

package func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

package func write(_ bytes: [UInt8], to path: String) throws {
  guard let file = fopen(path, "w") else { throw TestFailure("\(path): errno \(errno)") }
  defer { fclose(file) }
  guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw TestFailure("\(path): errno \(errno)") }
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
