import ImgdConnection
import ImgdSystem

/// The reason why a command ends early: a sentence for people, and an exit code for scripts.
struct Failure: Error {
  let exitCode: ExitCode
  let sentence: String

  init(_ exitCode: ExitCode, _ sentence: String) {
    self.exitCode = exitCode
    self.sentence = sentence
  }

  init(_ problem: ConnectionProblem) {
    self.init(ExitCode(problem), problem.description)
  }

  /// An error that the daemon answered to the command itself.
  init(refusal reply: Reply) {
    self.init(reply.exitCode, reply.complaint)
  }

  init(_ failure: SystemFailure) {
    self.init(.failed, failure.description)
  }
}

extension Reply {
  /// The error's message and, in brackets, its code.
  var complaint: String {
    let code = errorCode ?? "no code"
    return errorMessage.map { "\($0) (\(code))" } ?? code
  }

  /// The exit code that belongs to the error.
  var exitCode: ExitCode {
    ExitCode(errorCode: errorCode ?? "", isRetryable: isRetryable)
  }
}
