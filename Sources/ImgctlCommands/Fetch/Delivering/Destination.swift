import Glibc
import ImgdSystem

/// The place where one invocation puts its pictures.
enum Destination: Equatable {
  /// The pictures stay in the daemon's cache.
  case daemon
  case standardOutput
  case file(String)
  case directory(String)

  /// Reads the value of `-o`; `count` is the number of URLs, if it is known.
  init(_ output: String, count: Int?) throws(Failure) {
    if output == "-" {
      self = .standardOutput
    } else if Self.isDirectory(output) {
      self = .directory(output)
    } else {
      guard count ?? 1 <= 1 else { throw Self.takesOne(output, count.map(String.init)) }
      guard !output.hasSuffix("/") else {
        throw Failure(.wrongUsage, "-o \(output) is not a directory: create it first")
      }
      self = .file(output)
    }
  }

  /// The file for one picture; nil if the pictures do not go into files.
  func path(name: String, pathExtension: String) -> String? {
    switch self {
    case .daemon, .standardOutput: return nil
    case .file(let path): return path
    case .directory(let directory):
      let slash = directory.hasSuffix("/") ? "" : "/"
      return directory + slash + name + "." + pathExtension
    }
  }

  /// The refusal of a second picture for a file.
  static func takesOne(_ output: String, _ count: String?) -> Failure {
    let urls = count.map { "\($0) URLs" } ?? "several URLs"
    return Failure(
      .wrongUsage, "-o \(output) takes one picture: for \(urls) name an existing directory")
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
