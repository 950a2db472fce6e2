import ImgdConnection
import ImgdWire

/// The exit codes of imgctl; scripts rely on the numbers.
package enum ExitCode: Int32, Sendable {
  case done = 0
  case failed = 1
  case wrongUsage = 2
  case unreachable = 3
  case notPermitted = 4
  case timedOut = 5
  case notCached = 6
  case blocked = 7
  case noPicture = 8
  case interrupted = 130

  /// The exit code for an error code of the protocol.
  init(errorCode: String) {
    switch ReplyCode(rawValue: errorCode) {
    case .forbidden: self = .notPermitted
    case .timeout: self = .timedOut
    case .notCached: self = .notCached
    case .blockedAddress, .blockedScheme: self = .blocked
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .decodeFailed, .decodeCrashed:
      self = .noPicture
    default: self = .failed
    }
  }

  init(_ problem: ConnectionProblem) {
    switch problem {
    case .notPermitted: self = .notPermitted
    case .silent: self = .timedOut
    default: self = .unreachable
    }
  }

  /// One exit code for two outcomes: a failure wins over success, and two different failures are
  /// `failed`.
  func joined(_ other: ExitCode) -> ExitCode {
    if self == .done || self == other { return other }
    return other == .done ? self : .failed
  }
}
