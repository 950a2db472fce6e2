import ImgdClient
import ImgdSystem

/// Why a command ends early: the sentence for people, and the code for scripts.
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

  /// The daemon refused the command itself.
  init(refusal reply: Reply) {
    self.init(reply.exitCode, reply.complaint)
  }

  init(_ failure: SystemFailure) {
    self.init(.failed, failure.description)
  }
}
