import ImgdConnection
import ImgdSystem
import ImgdWire

/// The reason why a command ends early: a sentence for people, and an exit code for scripts.
struct Failure: Error {
  let exitCode: ExitCode
  let sentence: String

  init(_ exitCode: ExitCode, _ sentence: String) {
    self.exitCode = exitCode
    self.sentence = sentence
  }

  init(_ problem: ConnectionProblem) { self.init(ExitCode(problem), problem.description) }

  /// The error with which the daemon answered the command itself.
  init(refusal reply: Reply) { self.init(reply.exitCode, reply.complaint) }

  init(_ failure: SystemFailure) { self.init(.failed, failure.description) }
}

extension Reply {
  /// The error's message and, in brackets, its code.
  var complaint: String {
    let code = errorCode ?? "no code"
    let pause = pause.map { ", and asked to wait " + Quantity.time(roundedUp: $0) } ?? ""
    return errorMessage.map { "\($0)\(pause) (\(code))" } ?? code
  }

  /// The complaint about a URL, with advice for a person at a shell.
  func complaint(about url: String) -> String {
    guard ReplyCode(rawValue: errorCode ?? "") == .badURL, hasUserName(url) else { return complaint }
    return "the URL has a user name in it: leave it out, and write -H 'Authorization: Basic …' "
      + "(\(ReplyCode.badURL.rawValue))"
  }

  /// Whether the daemon answered a condition with `not_modified` in place of a picture.
  var isNotModified: Bool { flag("not_modified") == true }

  /// How long an origin asks to be left alone.
  var pause: Duration? { object("error")?.object("details")?.number("retry_after_ms").map { .milliseconds($0) } }

  var exitCode: ExitCode { ExitCode(errorCode: errorCode ?? "", isRetryable: isRetryable) }
}

/// The exit codes of imgctl; scripts rely on the numbers.
///
/// Three of them mean that the same command may succeed later: `unreachable`, `timedOut` and `tryLater`.
package enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case failed = 1
  case wrongUsage = 2
  case unreachable = 3
  case notPermitted = 4
  case timedOut = 5
  case notCached = 6
  case blocked = 7
  case noPicture = 8
  case refusedByOrigin = 9
  case badURL = 10
  case fileExists = 11
  case noFile = 12
  case tryLater = 75
  case interrupted = 130
  case terminated = 143

  /// The line about the code in help.
  var meaning: String {
    switch self {
    case .done: "success"
    case .failed: "failure, or different failures of several URLs"
    case .wrongUsage: "wrong usage"
    case .unreachable: "no connection to a daemon; try again later"
    case .notPermitted: "not permitted"
    case .timedOut: "timed out; try again later"
    case .notCached: "not in the cache, with query or --cache only-if-cached"
    case .blocked: "the daemon may not fetch this scheme or from this address"
    case .noPicture: "not a picture, or not one that can be decoded"
    case .refusedByOrigin: "the origin's answer is final, such as 404"
    case .badURL: "not a URL that can be fetched"
    case .fileExists: "the file exists, and --force was not given"
    case .noFile: "the picture came, but the daemon keeps it in no file that could be named"
    case .tryLater: "a failure that may pass: no such host, connection refused, 503, too busy"
    case .interrupted: "interrupted"
    case .terminated: "terminated"
    }
  }

  var mayPass: Bool { self == .unreachable || self == .timedOut || self == .tryLater }

  init(errorCode: String, isRetryable: Bool) {
    switch ReplyCode(rawValue: errorCode) {
    case .forbidden: self = .notPermitted
    case .timeout: self = .timedOut
    case .notCached: self = .notCached
    case .blockedAddress, .blockedScheme: self = .blocked
    case .badURL: self = .badURL
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .decodeFailed, .decodeCrashed: self = .noPicture
    case _ where isRetryable: self = .tryLater
    case .httpStatus, .connect, .tls, .tooLarge, .tooManyRedirects, .emptyBody: self = .refusedByOrigin
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

  /// One exit code for two outcomes: a failure wins over success, failures that may all pass are `tryLater`,
  /// and other different failures are `failed`.
  func joined(_ other: ExitCode) -> ExitCode {
    if self == .done || self == other { return other }
    if other == .done { return self }
    return mayPass && other.mayPass ? .tryLater : .failed
  }
}
