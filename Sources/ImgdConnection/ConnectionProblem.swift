import Glibc
import ImgdSystem

/// The reason why a connection to the daemon failed or broke.
package enum ConnectionProblem: Error, Equatable, CustomStringConvertible {
  case noSocket(path: String)
  case notListening(path: String)
  /// Only the socket's owner and group may connect; the remedy says which group that is.
  case notPermitted(path: String, remedy: String)
  /// The daemon closed the connection before it answered.
  case closed(path: String)
  /// The daemon sent nothing in time.
  case silent(path: String)
  /// The data is not an answer from imgd.
  case strange(path: String, what: String)
  case failed(path: String, reason: String)

  init(_ failure: SystemFailure, path: String) {
    self =
      switch failure.errno {
      case ENOENT, ENOTDIR: .noSocket(path: path)
      case ECONNREFUSED: .notListening(path: path)
      case EACCES, EPERM: .notPermitted(path: path, remedy: Self.remedy(path))
      case EPIPE, ECONNRESET: .closed(path: path)
      default: .failed(path: path, reason: failure.reason)
      }
  }

  package var description: String {
    switch self {
    case .noSocket(let path): "there is no socket \(path): imgd is not running, or listens on another path"
    case .notListening(let path): "no program listens on \(path): imgd is not running"
    case .notPermitted(let path, let remedy): "no permission to connect to \(path): \(remedy)"
    case .closed(let path): "imgd at \(path) closed the connection before it answered"
    case .silent(let path): "imgd at \(path) did not answer in time"
    case .strange(let path, let what): "the program that listens on \(path) is not imgd: \(what)"
    case .failed(let path, let reason): "the connection to imgd at \(path) failed: \(reason)"
    }
  }

  private static func remedy(_ path: String) -> String {
    guard let owner = SocketOwner(path: path) else { return "its directory is closed to this user" }
    if owner.group == "root" { return "only the user \(owner.user) may use this daemon" }
    return "only the user \(owner.user) and the members of the group \(owner.group) may use this daemon. "
      + "Write sudo adduser $USER \(owner.group), and log in again"
  }
}

/// The user and the group that a socket belongs to, by name.
package struct SocketOwner {
  package let user: String
  package let group: String
  package let gid: UInt32
  /// The permission bits.
  package let permissions: UInt32

  /// The owner of the socket with this path; nil if there is no such socket, or none that this user can see.
  package init?(path: String) {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    guard unsafe stat(path, &status) == 0 else { return nil }
    user = Self.userName(status.st_uid)
    group = Self.groupName(status.st_gid)
    gid = status.st_gid
    permissions = status.st_mode & 0o7777
  }

  /// The name of a user in the system's list; the number if there is none.
  package static func userName(_ uid: UInt32) -> String {
    // The result belongs to the C library until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwuid(uid), let name = unsafe entry.pointee.pw_name else { return String(uid) }
    return unsafe String(cString: name)
  }

  private static func groupName(_ gid: gid_t) -> String {
    // As above.
    guard let entry = unsafe getgrgid(gid), let name = unsafe entry.pointee.gr_name else { return String(gid) }
    return unsafe String(cString: name)
  }
}
