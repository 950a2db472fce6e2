/// The calls that a source of memory pressure makes.
struct PressureCallbacks {
  /// Memory is short. Returns how long to leave the source alone.
  let pressure: () -> Duration
  /// The source has ended, for this reason; it may be deallocated when this returns.
  let ended: (String) -> Void
}

/// Why a source of memory pressure cannot be used.
enum PressureProblem: Error, CustomStringConvertible {
  case system(SystemFailure)
  case relativePath(String)
  case notBase64(String)
  case unknownKind(String)
  case ordinaryFile(String)
  case cutShort(String)
  case noCgroup
  case noLimit(String)
  case unreadable([String])

  /// The call that has just failed, by `errno`.
  static func call(_ name: String, _ subject: String) -> PressureProblem { .system(SystemFailure(name, subject)) }

  var description: String {
    switch self {
    case .system(let failure): failure.description
    case .relativePath(let path): "\"\(path)\" is not an absolute path"
    case .notBase64(let text): "\"\(text)\" is not Base64"
    case .unknownKind(let path): "\(path) is no regular file, FIFO or socket"
    case .ordinaryFile(let path): "\(path) is an ordinary file, which sends no notification"
    case .cutShort(let path): "\(path) accepted only a part of what had to be written"
    case .noCgroup: "the process is in no cgroup of version 2 that is mounted"
    case .noLimit(let directory): "\(directory) has neither memory.high nor memory.max set"
    case .unreadable(let paths): "no stalls can be read in \(paths.joined(separator: ", "))"
    }
  }
}
