import ImgdConnection
import Testing

@testable import ImgctlCommands

struct ExitCodeTests {
  @Test(
    arguments: [
      ("forbidden", 4), ("timeout", 5), ("not_cached", 6), ("blocked_address", 7),
      ("blocked_scheme", 7), ("not_an_image", 8), ("unsupported_format", 8), ("too_many_pixels", 8),
      ("decode_failed", 8), ("decode_crashed", 8), ("http_status", 9), ("connect", 9),
      ("tls", 9), ("too_large", 9), ("cancelled", 1), ("internal", 1), ("bad_url", 10), ("", 1),
      ("of the future", 1),
    ] as [(String, Int32)])
  func `every error has an exit code`(code: String, number: Int32) {
    #expect(ExitCode(errorCode: code, isRetryable: false).rawValue == number)
  }

  @Test(
    arguments: [
      ("timeout", 5), ("dns", 75), ("http_status", 75), ("connect", 75), ("queue_full", 75),
      ("of the future", 75),
    ] as [(String, Int32)])
  func `a failure that may pass is told from one that will not`(code: String, number: Int32) {
    let exitCode = ExitCode(errorCode: code, isRetryable: true)
    #expect(exitCode.rawValue == number && exitCode.mayPass)
  }

  @Test(
    arguments: [
      (ConnectionProblem.noSocket(path: "s"), 3), (.notListening(path: "s"), 3),
      (.notPermitted(path: "s", remedy: ""), 4), (.closed(path: "s"), 3), (.silent(path: "s"), 5),
      (.strange(path: "s", what: ""), 3), (.failed(path: "s", reason: ""), 3),
    ] as [(ConnectionProblem, Int32)])
  func `every connection problem has an exit code`(problem: ConnectionProblem, number: Int32) {
    #expect(ExitCode(problem).rawValue == number)
  }

  @Test(arguments: [
    (ExitCode.done, ExitCode.done, ExitCode.done), (.done, .notCached, .notCached),
    (.notCached, .done, .notCached), (.notCached, .notCached, .notCached),
    (.notCached, .timedOut, .failed), (.failed, .blocked, .failed), (.failed, .done, .failed),
    (.timedOut, .tryLater, .tryLater), (.tryLater, .badURL, .failed),
  ])
  func `different failures together have the general exit code`(
    first: ExitCode, second: ExitCode, both: ExitCode
  ) {
    #expect(first.joined(second) == both)
  }
}
