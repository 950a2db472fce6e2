import Glibc
package import ImgdSystem

/// Why the disk tier cannot use a directory.
package enum DirectoryProblem: Error, Sendable, CustomStringConvertible {
  /// Another process holds it; `pid` is nil if it is unknown which.
  case taken(path: String, pid: Int32?)
  /// Others could replace pictures there, or it is not a directory at all.
  case unsafe(path: String, reason: String)
  case unavailable(SystemFailure)

  /// What is wrong and, after a semicolon, what would be right.
  package var description: String {
    switch self {
    case .taken(let path, let pid?):
      "\(path) is used by another daemon, process \(pid): give each a directory of its own"
    case .taken(let path, nil): "\(path) is used by another daemon: give each a directory of its own"
    case .unsafe(let path, let reason): "\(path) \(reason)"
    case .unavailable(let failure):
      Self.remedy(for: failure).map { "\(failure.description); \($0)" } ?? failure.description
    }
  }

  /// Whether this process lacks a right, rather than the disk failing.
  var isExclusion: Bool {
    guard case .unavailable(let failure) = self else { return false }
    return [EROFS, EACCES, EPERM].contains(failure.errno)
  }

  private static func remedy(for failure: SystemFailure) -> String? {
    let making = "install -d -o \(geteuid()) -g \(getegid()) -m 750 \(failure.subject)"
    switch failure.errno {
    case EROFS:
      return "a service of systemd can write where its unit says, and nowhere else: " + "ReadWritePaths=, see imgd(8)"
    case EACCES, EPERM: return "let the user who runs imgd into the directories above it, and as root: \(making)"
    case ENOENT, ENOTDIR: return "name another directory in Disk.Directory="
    default: return nil
    }
  }
}
