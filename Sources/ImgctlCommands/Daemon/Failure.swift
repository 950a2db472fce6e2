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

  /// How long an origin asks to be left alone.
  var pause: Duration? { object("error")?.object("details")?.number("retry_after_ms").map { .milliseconds($0) } }

  /// The exit code that belongs to the error.
  var exitCode: ExitCode { ExitCode(errorCode: errorCode ?? "", isRetryable: isRetryable) }
}
