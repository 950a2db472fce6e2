import ImgdSystem

/// The place where one invocation puts its pictures.
enum Destination: Equatable {
  /// The pictures stay in the daemon's cache.
  case daemon
  case standardOutput
  case file(String)
  case directory(String)

  /// Reads the value of `-o`, and makes the directory if the name ends with a slash; `count` is the number of URLs, if
  /// it is known.
  init(_ output: String, count: Int?) throws(Failure) {
    if output == "-" {
      self = .standardOutput
    } else if output.hasSuffix("/") {
      do throws(SystemFailure) { try NewDirectories.make(output) } catch { throw Failure(error) }
      self = .directory(output)
    } else if NewDirectories.isDirectory(output) {
      self = .directory(output)
    } else {
      guard count ?? 1 <= 1 else { throw Self.takesOne(output, count.map(String.init)) }
      self = .file(output)
    }
  }

  /// The file for one picture; nil if the pictures do not go into files.
  func path(name: FileName, pathExtension: String) -> String? {
    switch self {
    case .daemon, .standardOutput: return nil
    case .file(let path): return path
    case .directory(let directory):
      let slash = directory.hasSuffix("/") ? "" : "/"
      switch name {
      case .given(let name) where PictureName.kind(ofFile: name) != nil: return directory + slash + name
      case .given(let name), .made(let name): return directory + slash + name + "." + pathExtension
      }
    }
  }

  /// The failure when several pictures are to go into one file.
  static func takesOne(_ output: String, _ count: String?) -> Failure {
    let urls = count.map { "\($0) URLs" } ?? "several URLs"
    return Failure(.wrongUsage, "-o \(output) takes one picture: for \(urls) name a directory: \(output)/")
  }
}
