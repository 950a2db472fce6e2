// No URL is taken for a file, whatever lies in the directory: a word with a colon is a path only if it begins like one.

import Glibc
import ImgdSystem

/// The files of the user that words of a command line or lines of a list stand for.
enum LocalFile {
  /// More than any picture that the daemon accepts has; the rest of an endless input is not read.
  private static let mostInput = 1 << 30

  /// Whether a word begins like a path.
  static func looksLikePath(_ word: String) -> Bool { ["/", "./", "../", "~/"].contains { word.hasPrefix($0) } }

  static func exists(_ path: String) -> Bool { OutputFile.status(of: path) != nil }

  /// The files that a path, a pattern or a directory stands for; nil for a word that is none of these. A path that leads
  /// nowhere, or to a directory without files, stands for itself: to open it says what is wrong.
  static func paths(_ word: String) -> [String]? {
    guard looksLikePath(word) || !word.utf8.contains(UInt8(ascii: ":")) else { return nil }
    let found = exists(word) ? [word] : matches(word)
    let files = found.flatMap { NewDirectories.isDirectory($0) ? self.files(in: $0) : [$0] }
    if !files.isEmpty { return files }
    return looksLikePath(word) || !found.isEmpty ? [word] : nil
  }

  /// Opens a file, or copies standard input for `-`: what comes through a pipe can be read only once. What is neither a
  /// file nor memory the daemon refuses.
  static func open(_ path: String, _ console: Console) throws(SystemFailure) -> SharedDescriptor {
    guard path == "-" else { return SharedDescriptor(try FileDescriptor(reading: path)) }
    return SharedDescriptor(try FileDescriptor.copy(of: console.input, atMost: mostInput, named: "standard input"))
  }

  /// The existing paths that a pattern of the shell matches, sorted.
  private static func matches(_ pattern: String) -> [String] {
    // The paths are copied before the list is freed.
    var found = unsafe glob_t()
    defer { unsafe globfree(&found) }
    guard unsafe glob(pattern, GLOB_TILDE, nil, &found) == 0, let list = unsafe found.gl_pathv else { return [] }
    let range = 0..<Int(unsafe found.gl_pathc)
    return range.compactMap { unsafe list[$0].map { unsafe String(cString: $0) } }
  }

  private static func files(in directory: String) -> [String] {
    var pattern: [UInt8] = []
    for byte in directory.utf8 {
      // The name is no pattern.
      if "\\*?[".utf8.contains(byte) { pattern.append(UInt8(ascii: "\\")) }
      pattern.append(byte)
    }
    if pattern.last != UInt8(ascii: "/") { pattern.append(UInt8(ascii: "/")) }
    return matches(String(decoding: pattern, as: UTF8.self) + "*").filter { !NewDirectories.isDirectory($0) }
  }
}
