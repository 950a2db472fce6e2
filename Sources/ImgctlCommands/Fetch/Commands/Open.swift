import Glibc
import ImgdConnection
import ImgdSystem

/// `imgctl open`: a picture in a program that shows it.
struct Open: Verb {
  static let description = VerbDescription(
    "open", "show a picture in a program", operands: .one("URL", .url),
    options: [
      VerbOption(
        "with", nil, .text("PROGRAM"), help: "the program that shows it; default: $IMGD_VIEWER, or else xdg-open")
    ] + RequestOptions.all,
    details: """
      Fetches the picture, and becomes the program, with the path of the daemon's file as its last argument. The file stays for at least 30 seconds (Disk.Lease); a program that has opened it can read it for as long as it likes.
      """)

  private let arguments: Arguments
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    options = try RequestOptions(arguments)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let delivery = Delivery(form: .path, destination: .daemon, collision: .refuse, style: .nothing)
    let answer = Received()
    var plan = FetchPlan(delivery: delivery)
    options.apply(to: &plan)
    plan.onAnswer = { answer.reply = $0 }
    let exitCode = try FetchRun(plan, arguments.operands, in: context).finish()
    guard exitCode == .done, answer.reply?.isNotModified != true else { return exitCode }
    guard let path = answer.reply?.text("path") else { return exitCode }
    throw become(viewer(context) + [path])
  }

  /// The program and its own arguments.
  private func viewer(_ context: Context) -> [String] {
    let named = arguments.text("with") ?? context.environment["IMGD_VIEWER"] ?? ""
    let words = named.split(separator: " ").map(String.init)
    return words.isEmpty ? ["xdg-open"] : words
  }

  /// Replaces this process; returns only if that fails.
  private func become(_ words: [String]) -> Failure {
    // The list and its texts live until the process is replaced.
    let reason = unsafe withCStrings(words) { list in
      unsafe execvp(words[0], list)
      return SystemFailure("start", words[0]).reason
    }
    return Failure(.failed, "cannot start \(words[0]): \(reason); name another program with --with or IMGD_VIEWER")
  }
}

private final class Received { var reply: Reply? }
