import ImgdSystem
import ImgdWire

/// `imgctl ping`: checks that the daemon answers.
struct Ping: Verb {
  static let description = VerbDescription(
    "ping", "check that the daemon answers", options: [.json], details: "Prints how long the answer took.")

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let start = Instant.current
    let answer = try context.ask(.ping)
    let microseconds = (Instant.current - start).nanoseconds / 1000
    try context.print(answer) { _ in "imgd at \(printable(context.socket)) answered after \(microseconds) µs" }
    return .done
  }
}
