import Glibc
package import ImgdSystem

/// Why a directory cannot be the disk tier's.
package enum DirectoryProblem: Error, Sendable, CustomStringConvertible {
  /// Another process holds it; nil when it cannot be told which.
  case taken(path: String, pid: Int32?)
  /// Pictures there could be exchanged by others, or it is not a directory at all.
  case unsafe(path: String, reason: String)
  case unavailable(SystemFailure)

  package var description: String {
    switch self {
    case .taken(let path, let pid?):
      "\(path) is used by another daemon, process \(pid): give each a directory of its own"
    case .taken(let path, nil):
      "\(path) is used by another daemon: give each a directory of its own"
    case .unsafe(let path, let reason): "\(path) \(reason)"
    case .unavailable(let failure) where failure.errno == EROFS:
      "\(failure.description); a service of systemd can write where its unit says, and nowhere else: "
        + "ReadWritePaths=, see imgd(8)"
    case .unavailable(let failure): failure.description
    }
  }
}
