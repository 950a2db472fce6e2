import ImgdConnection
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
