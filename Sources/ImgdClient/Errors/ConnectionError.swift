internal import ImgdConnection

/// The reason why no answer came from the daemon.
public enum ConnectionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// There is no socket: the daemon does not run, or listens on another path.
  case noSocket(path: String)
  /// Nobody listens on the socket: the daemon does not run.
  case notListening(path: String)
  /// The user may not use the socket; the remedy says who may.
  case notPermitted(path: String, remedy: String)
  /// The daemon closed the connection before it answered: it may or may not have carried out the request.
  case closed(path: String)
  /// The other end does not speak imgd's protocol.
  case unexpected(path: String, what: String)
  /// The connection failed in another way.
  case failed(path: String, reason: String)
  /// `close` was called.
  case clientClosed

  init(_ problem: ConnectionProblem) {
    self =
      switch problem {
      case .noSocket(let path): .noSocket(path: path)
      case .notListening(let path): .notListening(path: path)
      case .notPermitted(let path, let remedy): .notPermitted(path: path, remedy: remedy)
      case .closed(let path), .silent(let path): .closed(path: path)
      case .strange(let path, let what): .unexpected(path: path, what: what)
      case .failed(let path, let reason): .failed(path: path, reason: reason)
      }
  }

  private var problem: ConnectionProblem? {
    switch self {
    case .noSocket(let path): .noSocket(path: path)
    case .notListening(let path): .notListening(path: path)
    case .notPermitted(let path, let remedy): .notPermitted(path: path, remedy: remedy)
    case .closed(let path): .closed(path: path)
    case .unexpected(let path, let what): .strange(path: path, what: what)
    case .failed(let path, let reason): .failed(path: path, reason: reason)
    case .clientClosed: nil
    }
  }

  /// A sentence for people, with the remedy where there is one.
  public var description: String { problem?.description ?? "the client was closed by this program" }
}
