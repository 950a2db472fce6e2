import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl reload`: makes the daemon read its configuration again.
struct Reload: Verb {
  static let description = VerbDescription(
    "reload", "make the daemon read its configuration again", options: [.json],
    details: """
      Prints the keys that have changed. If the configuration has a mistake, nothing changes, and imgctl prints the mistake.
      """)

  init(_ arguments: Arguments) {}

  /// A daemon that stops needs no other configuration, and the next one reads its own: a reload that meets
  /// a stop has not failed.
  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let answer = try context.answer(to: .reload, over: context.connect(), within: Context.patience)
    if ReplyCode(rawValue: answer.reply.errorCode ?? "") == .shuttingDown {
      try context.print(answer) { _ in "imgd is stopping; it reads its configuration when it starts" }
      return .done
    }
    guard answer.reply.succeeded == true else { return try refuse(answer.reply, in: context) }
    try context.print(answer, Self.text)
    return .done
  }

  /// Prints each mistake on a line of its own.
  private func refuse(_ reply: Reply, in context: Context) throws(Failure) -> ExitCode {
    let mistakes = reply.object("error")?.object("details")?.texts("mistakes") ?? []
    guard mistakes.count > 1 else { throw Failure(refusal: reply) }
    for mistake in mistakes { context.console.complain(mistake) }
    throw Failure(reply.exitCode, "nothing was changed: see the \(mistakes.count) lines above")
  }

  /// The keys that a reload has changed, and those that need a restart.
  private static func text(_ reply: Reply) -> String {
    let waiting = (reply.texts("needs_restart") ?? []).map { printable($0) }
    let inForce = (reply.texts("changed") ?? []).map { printable($0) }.filter { !waiting.contains($0) }
    var lines: [String] = []
    if !inForce.isEmpty { lines.append("changed: " + inForce.joined(separator: ", ")) }
    if !waiting.isEmpty { lines.append("needs a restart: " + waiting.joined(separator: ", ")) }
    return lines.isEmpty ? "no value has changed" : lines.joined(separator: "\n")
  }
}
