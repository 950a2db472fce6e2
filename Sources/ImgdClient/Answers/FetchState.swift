/// How far a fetch was when it was cancelled.
public enum FetchState: Hashable, Sendable {
  case queued
  case running
  case finished
  /// The daemon has no fetch with the receipt, or has forgotten it.
  case unknown
  /// A state of a later release.
  case other(String)

  init(_ name: String) {
    switch name {
    case "queued": self = .queued
    case "running": self = .running
    case "finished": self = .finished
    case "unknown": self = .unknown
    default: self = .other(name)
    }
  }
}
