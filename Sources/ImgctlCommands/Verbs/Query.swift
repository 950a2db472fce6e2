import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl query`: whether the cache has pictures, and what they are.
struct Query: Verb {
  static let description = VerbDescription(
    "query", "tell whether pictures are in the cache", operands: .some("URL", .url),
    options: [
      VerbOption("identifier", nil, .text("ID"), help: "the entry that was fetched with this identifier"),
      VerbOption("describe", help: "add a ThumbHash and the mean colour, which takes a decoder"), .json,
    ],
    details: """
      Prints what is known of each picture. Nothing is fetched, and the picture does not count as used. The exit code is 6 if a picture is not in the cache.
      """)

  private let urls: [String]
  private let identifier: String?
  private let describes: Bool

  init(_ arguments: Arguments) {
    urls = arguments.operands
    identifier = arguments.text("identifier")
    describes = arguments.has("describe")
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    var outcome = ExitCode.done
    for url in urls {
      let request = QueryRequest(url: url, identifier: identifier, describe: describes)
      let answer = try context.answer(to: .query(request), over: connection, within: Context.patience)
      if context.asJSON { try context.print(answer.text) }
      outcome = outcome.joined(try report(answer.reply, about: url, in: context))
    }
    return outcome
  }

  private func report(_ reply: Reply, about url: String, in context: Context) throws(Failure) -> ExitCode {
    guard reply.succeeded == true else {
      context.console.complain("\(url): \(reply.complaint(about: url))")
      return reply.exitCode
    }
    let isThere = reply.text("tier") != "none"
    if !context.asJSON {
      let isKnown = isThere || reply.objects("variants")?.isEmpty == false
      try context.print(isKnown ? facts(reply, context.palette) : printable(url) + ": not in the cache")
    }
    return isThere ? .done : .notCached
  }

  /// The headers by which one of several answers is found, its tiers, and when it was stored.
  private func variant(_ variant: Reply) -> String {
    let headers = variant.object("vary")
    let vary = (headers?.fields ?? []).map { name in printable(name) + "=" + printable(headers?.text(name) ?? "-") }
    let tiers = (variant.texts("tiers") ?? []).joined(separator: ", ")
    return vary.joined(separator: " ") + " (" + printable(tiers) + ", " + printable(variant.display("stored")) + ")"
  }

  private func facts(_ reply: Reply, _ palette: Palette) -> String {
    let rows = reply.fields.filter { !["ok", "url", "variants"].contains($0) }.map { field in
      [printable(field), EntryText.value(field, of: reply)]
    }
    let variants = (reply.objects("variants") ?? []).map { ["variant", variant($0)] }
    let lines = Columns.lines(rows + variants, [.left, .left]).map { "  " + $0 }
    return ([palette(printable(reply.text("url") ?? ""), .heading)] + lines).joined(separator: "\n")
  }
}
