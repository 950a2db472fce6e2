import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl version`: the versions of imgctl and of the daemon.
struct Version: Verb {
  static let description = VerbDescription(
    "version", "print the versions of imgctl and of the daemon", options: [.json])

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    if !context.asJSON { try context.print("imgctl \(Release.version)") }
    let answer = try context.ask(.hello)
    try context.print(answer) { reply in
      let version = printable(reply.text("version") ?? "?")
      return
        "imgd \(version), protocol \(reply.number("protocol") ?? 0), at \(printable(context.socket))"
    }
    return .done
  }
}

/// `imgctl --version`: the version of imgctl alone, which needs no daemon.
struct OwnVersion: Verb {
  static let description = VerbDescription("--version", "print the version of imgctl")

  init() {}

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try context.print("imgctl \(Release.version)")
    return .done
  }
}
