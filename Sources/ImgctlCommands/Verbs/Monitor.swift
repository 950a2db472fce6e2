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
    if !context.manner.isQuiet { context.console.remark(greeting(answer.reply, context.socket)) }
    let text = EventText(context.palette)
    while let line = try next(over: connection) {
      try context.print(context.asJSON ? String(decoding: line.bytes, as: UTF8.self) : text.line(line.event, at: .now))
    }
    throw Failure(.unreachable, "imgd at \(context.socket) has ended")
  }

  /// The next event; nil when the daemon has ended.
  private func next(over connection: ControlConnection) throws(Failure) -> (bytes: [UInt8], event: Reply)? {
    do throws(ConnectionProblem) {
      guard let line = try connection.receive() else { return nil }
      return (line, try Reply(line, from: connection.path))
    } catch { throw Failure(error) }
  }

  private func greeting(_ reply: Reply, _ socket: String) -> String {
    let downloads = reply.object("snapshot")?.object("downloads")
    let active = downloads?.number("active") ?? 0
    let queued = downloads?.number("queued") ?? 0
    return "connected to \(socket); downloads: \(active) running, \(queued) waiting"
  }
}

/// Events as lines for people: the time of day, the kind, and what has happened.
struct EventText {
  private let palette: Palette

  init(_ palette: Palette) { self.palette = palette }

  func line(_ event: Reply, at time: LocalTime) -> String {
    let kind = event.event ?? "answer"
    let (word, style, rest) =
      switch kind {
      case "job": job(event)
      case "cache": cache(event)
      case "pressure": ("removed", Style.doubtful, pressure(event))
      case "config": (event.text("what") ?? "?", configStyle(event), "")
      case "overflow": ("lost", Style.bad, "\(event.display("lost")) events came faster than they were read")
      default: ("", nil, event.json)
      }
    let parts = [
      palette(time.text, .faint), TextWidth.padded(printable(kind), to: 8),
      palette(TextWidth.padded(printable(word), to: 9), style), printable(rest),
    ]
    return parts.joined(separator: "  ").trimmedEnd
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
    return (
      what == "removed_all" ? "emptied" : what, what == "stored" ? .good : .doubtful,
      [event.text("tier"), facts].compactMap { $0 }.joined(separator: ": ")
        + (event.text("url").map { "  " + $0 } ?? "")
    )
  }

  private func pressure(_ event: Reply) -> String {
    let entries = event.number("removed_entries") ?? 0
    return "\(entries) entries, \(Quantity.size(event.number("removed_bytes") ?? 0)), because of "
      + event.display("source")
  }

  private func configStyle(_ event: Reply) -> Style { event.text("what") == "refused" ? .bad : .good }
}

extension String {
  /// The text without spaces at its end.
  fileprivate var trimmedEnd: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
