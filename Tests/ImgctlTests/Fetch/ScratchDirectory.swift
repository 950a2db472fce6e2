import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// A directory that is gone with the test.
final class ScratchDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/imgctl-output-XXXXXX".utf8CString)
    path = String(cString: try #require(mkdtemp(&template)))
  }

  deinit {
    for name in names { unlink(path + "/" + name) }
    rmdir(path)
  }

  var names: [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The path of a file below.
  func file(_ name: String) -> String { path + "/" + name }

  /// Creates a file with these permissions, and returns its path.
  func make(_ name: String, _ text: String = "old", mode: mode_t = 0o644) -> String {
    let number = open(file(name), O_CREAT | O_WRONLY | O_TRUNC, mode)
    fchmod(number, mode)
    write(number, text, text.utf8.count)
    close(number)
    return file(name)
  }

  func mode(_ name: String) -> mode_t? {
    var status = stat()
    return lstat(file(name), &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  func isLink(_ name: String) -> Bool {
    var status = stat()
    return lstat(file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  func content(_ name: String) -> [UInt8]? {
    let number = open(file(name), O_RDONLY)
    guard number >= 0 else { return nil }
    var content: [UInt8] = []
    try? OutputFile.read(FileDescriptor(owning: number)) { bytes throws(SystemFailure) in
      content += bytes
    }
    return content
  }

  /// The contents of a file, in words that stay short when they are wrong.
  func summary(_ name: String) -> String { ImgctlTests.summary(content(name)) }
}

/// The contents of a file or stream, in words that stay short when they are wrong.
func summary(_ bytes: [UInt8]?) -> String {
  guard let bytes, let first = bytes.first else { return bytes == nil ? "missing" : "empty" }
  let isUniform = bytes.allSatisfy { $0 == first }
  return "\(bytes.count) \(isUniform ? Character(Unicode.Scalar(first)) : "?")"
}

/// A daemon whose picture of a URL is the request's number, so often that it takes many reads.
func pictureDaemon(format: String = "png") throws -> ScriptedDaemon {
  try ScriptedDaemon { request in
    #expect(request.contains(#""deliver":"fd""#))
    let line =
      #"{"id":\#(id(request)),"ok":true,"format":"\#(format)","fds":[{"kind":"encoded"}]}"#
    return [.picture(line, Array(repeating: id(request).utf8.first ?? 0, count: 300_000))]
  }
}
