import Glibc

/// The place where one invocation puts its pictures.
enum Destination: Equatable {
  /// The pictures stay in the daemon's cache; imgctl prints their paths.
  case daemon
  case standardOutput
  case file(String)
  case directory(String, stems: [String])

  init(_ output: String?, urls: [String]) throws(Failure) {
    guard let output else {
      self = .daemon
      return
    }
    if output != "-", Self.isDirectory(output) {
      self = .directory(output, stems: PictureName.stems(of: urls))
      return
    }
    guard urls.count <= 1 else {
      throw Failure(
        .wrongUsage,
        "-o \(output) takes one picture: for \(urls.count) URLs name an existing directory")
    }
    guard !output.hasSuffix("/") else {
      throw Failure(.wrongUsage, "-o \(output) is not a directory: create it first")
    }
    self = output == "-" ? .standardOutput : .file(output)
  }

  /// Whether imgctl needs the bytes of the pictures.
  var takesBytes: Bool { self != .daemon }

  /// The file for the picture of one URL; nil if the pictures do not go into files.
  func path(index: Int, format: String) -> String? {
    switch self {
    case .daemon, .standardOutput: return nil
    case .file(let path): return path
    case .directory(let directory, let stems):
      let slash = directory.hasSuffix("/") ? "" : "/"
      return directory + slash + stems[index] + "." + PictureName.pathExtension(format: format)
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
