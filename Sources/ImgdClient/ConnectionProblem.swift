import Glibc
import ImgdSystem

/// Why a client and the daemon do not come together, or come apart.
package enum ConnectionProblem: Error, Equatable, CustomStringConvertible {
  case noSocket(path: String)
  case notListening(path: String)
  case notPermitted(path: String)
  /// The daemon went away before it had answered.
  case closed(path: String)
  /// The daemon sent nothing in time.
  case silent(path: String)
  /// What came cannot be an answer of imgd.
  case strange(path: String, what: String)
  case failed(path: String, reason: String)

  init(_ failure: SystemFailure, path: String) {
    self =
      switch failure.errno {
      case ENOENT, ENOTDIR: .noSocket(path: path)
      case ECONNREFUSED: .notListening(path: path)
      case EACCES, EPERM: .notPermitted(path: path)
      case EPIPE, ECONNRESET: .closed(path: path)
      default: .failed(path: path, reason: failure.reason)
      }
  }

  package var description: String {
    switch self {
    case .noSocket(let path):
      "there is no socket \(path): imgd is not running, or listens elsewhere"
    case .notListening(let path): "nobody listens on \(path): imgd is not running"
    case .notPermitted(let path):
      "no permission to connect to \(path): members of the group imgd have it, from their next login on"
    case .closed(let path): "imgd at \(path) closed the connection before it had answered"
    case .silent(let path): "imgd at \(path) did not answer in time"
    case .strange(let path, let what): "what listens on \(path) is not imgd: \(what)"
    case .failed(let path, let reason): "cannot talk to imgd at \(path): \(reason)"
    }
  }
}
