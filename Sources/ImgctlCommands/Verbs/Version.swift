import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl version`: the versions of imgctl and of the daemon.
struct Version: Verb {
  static let description = VerbDescription(
    "version", "print the versions of imgctl and of the daemon", options: [.json])

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    if !context.asJSON { _ = try Self.printOwn(in: context) }
    let answer = try context.ask(.hello)
    try context.print(answer) { reply in
      let version = printable(reply.text("version") ?? "?")
      return "imgd \(version), protocol \(reply.number("protocol") ?? 0), at \(printable(context.socket))"
    }
    return .done
  }

  /// `imgctl --version`: the version of imgctl alone, which needs no daemon.
  static func printOwn(in context: Context) throws(Failure) -> ExitCode {
    try context.print("imgctl \(Release.version)")
    return .done
  }
}
