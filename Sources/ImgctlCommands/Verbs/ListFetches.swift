import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl list`: the fetches under way.
struct ListFetches: Verb {
  static let description = VerbDescription(
    "list", "show the fetches under way", options: [.json],
    details: """
      A line for each fetch, the oldest first. One that is held waits since its host has asked to be left alone, for the time shown. Several requests that share one download are one fetch with several waiters.
      """)

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var fetches: [Reply] = []
    let connection = try context.connect()
    var page = PageRequest()
    repeat {
      let answer = try context.ask(.list(page), over: connection)
      if context.asJSON { try context.print(answer.text) } else { fetches += answer.reply.objects("jobs") ?? [] }
      page.cursor = answer.reply.text("cursor")
    } while page.cursor != nil
    if context.asJSON { return .done }
    guard !fetches.isEmpty else {
      if !context.manner.isQuiet { context.console.remark("no fetch is under way") }
      return .done
    }
    try context.print(Self.table(fetches, context.palette))
    return .done
  }

  private static func table(_ fetches: [Reply], _ palette: Palette) -> String {
    let titles = ["RECEIPT", "STATE", "PRIORITY", "BYTES", "DONE", "WAITERS", "AGE", "URL"]
    let lines = Columns.lines(
      [titles] + fetches.map(row), [.left, .left, .left, .right, .right, .right, .right, .left])
    return ([palette(lines[0], .heading)] + lines.dropFirst()).joined(separator: "\n")
  }

  /// The state, and how long the host has asked to be left alone.
  private static func state(of fetch: Reply) -> String {
    let pause = fetch.number("retry_after_ms").map { ", held " + Quantity.time(roundedUp: .milliseconds($0)) }
    return printable(fetch.display("state")) + (pause ?? "")
  }

  private static func row(_ fetch: Reply) -> [String] {
    let received = fetch.number("received") ?? 0
    return [
      printable(fetch.display("receipt")), state(of: fetch), printable(fetch.display("priority")),
      Quantity.shortSize(received), fetch.number("expected").flatMap { Quantity.share(received, of: $0) } ?? "-",
      printable(fetch.display("waiters")), Quantity.time(milliseconds: fetch.number("age_ms") ?? 0),
      printable(fetch.display("url")),
    ]
  }
}
