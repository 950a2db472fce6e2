import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl monitor`: events of the daemon as they happen.
struct Monitor: Verb {
  static let description = VerbDescription(
    "monitor", "show what goes on, as it happens", operands: .any("TOPIC", .choice(Topics.all.names)), options: [.json],
    details: """
      Prints a line for each event until Ctrl-C. The topics are jobs, cache, pressure and config; without any it is all of them. Events that come faster than they are read are dropped, and a line says how many. When the daemon ends, so does imgctl, with the exit code 3: it does not connect again, which could start a service that was just stopped.
      """)

  private let topics: Topics

  init(_ arguments: Arguments) {
    let named = arguments.operands.compactMap { Topics(name: $0) }
    topics = named.isEmpty ? .all : Topics(named)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    let answer = try context.ask(.subscribe(topics), over: connection)
    if context.asJSON { try context.print(answer.text) }
    if !context.manner.isQuiet {
      let downloads = answer.reply.object("snapshot")?.object("downloads")
      let (active, queued) = (downloads?.number("active") ?? 0, downloads?.number("queued") ?? 0)
      context.console.remark("connected to \(context.socket); downloads: \(active) running, \(queued) waiting")
    }
    let text = EventText(palette: context.palette)
    while let event = try next(over: connection) {
      try context.print(context.asJSON ? event.text : text.line(event.reply, at: .now))
    }
    throw Failure(.unreachable, "imgd at \(context.socket) has ended")
  }

  private func next(over connection: ControlConnection) throws(Failure) -> Answer? {
    do throws(ConnectionProblem) {
      guard let line = try connection.receive() else { return nil }
      return Answer(line: line, reply: try Reply(line, from: connection.path))
    } catch { throw Failure(error) }
  }
}

/// Events as lines for people: the time of day, the kind, and what has happened.
struct EventText {
  let palette: Palette

  func line(_ event: Reply, at time: LocalTime) -> String {
    let kind = event.event ?? "answer"
    let (word, style, rest): (String, Style?, String) =
      switch kind {
      case "job": job(event)
      case "cache": cache(event)
      case "pressure": ("removed", .doubtful, pressure(event))
      case "config": (event.text("what") ?? "?", event.text("what") == "refused" ? .bad : .good, "")
      case "overflow": ("lost", .bad, "\(event.display("lost")) events came faster than they were read")
      default: ("", nil, event.json)
      }
    let parts = [
      palette(time.text, .faint), TextWidth.padded(printable(kind), to: 8),
      palette(TextWidth.padded(printable(word), to: 9), style), printable(rest),
    ]
    var line = parts.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line
  }

  private func job(_ event: Reply) -> (String, Style?, String) {
    let state = event.text("state") ?? "?"
    let style: Style? =
      switch state {
      case "done": .good
      case "failed": .bad
      case "cancelled": .doubtful
      case "running": .accent
      default: nil
      }
    let status = event.number("status").map { " \($0)" } ?? ""
    let more = event.text("code").map { $0 + status } ?? event.text("source")
    return (state, style, event.display("url") + (more.map { "  " + $0 } ?? ""))
  }

  private func cache(_ event: Reply) -> (String, Style?, String) {
    let what = event.text("what") ?? "?"
    let entries = event.number("entries").map { "\($0) \($0 == 1 ? "entry" : "entries")" }
    let bytes = event.number("bytes").map { Quantity.size($0) }
    let facts = [entries, bytes].compactMap { $0 }.joined(separator: ", ")
    let place = [event.text("tier"), facts].compactMap { $0 }.joined(separator: ": ")
    let url = event.text("url").map { "  " + $0 } ?? ""
    return (what == "removed_all" ? "emptied" : what, what == "stored" ? .good : .doubtful, place + url)
  }

  private func pressure(_ event: Reply) -> String {
    let (entries, bytes) = (event.number("removed_entries") ?? 0, event.number("removed_bytes") ?? 0)
    return "\(entries) entries, \(Quantity.size(bytes)), because of \(event.display("source"))"
  }
}
