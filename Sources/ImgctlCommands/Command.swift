import ImgdConnection
import ImgdSystem
import ImgdWire

/// Carries out one action: sends requests to the daemon where it needs to, and prints the answers.
struct Command {
  /// The longest wait for an answer that needs no network and no disk. A purge has no limit: it
  /// answers when the index on disk is written, however long that takes.
  private static let patience = Duration.seconds(10)

  let action: Invocation.Action
  let socket: String
  let console: Console

  func run() throws(Failure) -> ExitCode {
    switch action {
    case .version: try show("imgctl \(Release.version)")
    case .help(let verb): try show(Help.text(verb))
    case .fetch(let arguments): return try fetch(arguments)
    case .cancel(let target): try show(AnswerText.cancelled(ask(Requests.cancel(target)).reply))
    case .purge(let filters):
      let answer = try ask(Requests.purge(filters), within: nil)
      try show(AnswerText.purged(answer.reply, soft: filters.soft))
    case .stats(let json):
      let answer = try ask(Requests.plain("stats"))
      try show(json ? answer.line : AnswerTable.statistics(answer.reply))
    case .list(let json):
      let pages = try pages(of: "list")
      try show(
        json
          ? pages.map(\.line).joined(separator: "\n") : AnswerTable.downloads(pages.map(\.reply)))
    case .reload: try reload()
    case .ping: try ping()
    }
    return .done
  }

  private func fetch(_ arguments: FetchArguments) throws(Failure) -> ExitCode {
    let urls = try urls(of: arguments)
    let destination = try Destination(arguments.output, urls: urls)
    let run = FetchRun(
      arguments: arguments, urls: urls, destination: destination, connection: try connect(),
      console: console)
    return try run.finish()
  }

  private func urls(of arguments: FetchArguments) throws(Failure) -> [String] {
    var urls: [String] = []
    for url in arguments.urls {
      if url == "-" { urls += try urlsFromInput() } else { urls.append(url) }
    }
    return urls
  }

  /// One URL on each line; blank lines and lines that begin with # are ignored.
  private func urlsFromInput() throws(Failure) -> [String] {
    let bytes: [UInt8]
    do throws(SystemFailure) { bytes = try console.input() } catch { throw Failure(error) }
    let blanks: [UInt8] = Array(" \t\r".utf8)
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let start = line.drop { blanks.contains($0) }
      guard let end = start.lastIndex(where: { !blanks.contains($0) }),
        start.first != UInt8(ascii: "#")
      else { return nil }
      return String(decoding: start[...end], as: UTF8.self)
    }
  }

  /// A daemon that stops needs no other configuration, and the next one reads its own: a reload that meets
  /// a stop has not failed.
  private func reload() throws(Failure) {
    let answer = try answer(to: Requests.plain("reload"), over: connect(), within: Self.patience)
    guard ReplyCode(rawValue: answer.reply.errorCode ?? "") == .shuttingDown else {
      return try show(AnswerText.reloaded(accepted(answer).reply))
    }
    try show("imgd is stopping; it reads its configuration when it starts")
  }

  private func ping() throws(Failure) {
    let start = Instant.current
    _ = try ask(Requests.plain("ping"))
    let microseconds = (Instant.current - start).nanoseconds / 1000
    try show("imgd at \(socket) answered after \(microseconds) µs")
  }

  private func connect() throws(Failure) -> ControlConnection {
    do throws(ConnectionProblem) {
      return try ControlConnection(path: socket)
    } catch { throw Failure(error) }
  }

  /// All pages of a list, which has a cursor as long as there are more.
  private func pages(of command: String) throws(Failure) -> [(line: String, reply: Reply)] {
    let connection = try connect()
    var pages = [try ask(Requests.page(of: command, after: nil), over: connection)]
    while let cursor = pages.last?.reply.text("cursor") {
      pages.append(try ask(Requests.page(of: command, after: cursor), over: connection))
    }
    return pages
  }

  private typealias Answer = (line: String, reply: Reply)

  private func ask(
    _ request: [UInt8], within limit: Duration? = patience
  ) throws(Failure) -> Answer {
    try ask(request, over: connect(), within: limit)
  }

  private func ask(
    _ request: [UInt8], over connection: ControlConnection, within limit: Duration? = patience
  ) throws(Failure) -> Answer {
    try accepted(answer(to: request, over: connection, within: limit))
  }

  /// An answer that is no error, which becomes a failure.
  private func accepted(_ answer: Answer) throws(Failure) -> Answer {
    guard answer.reply.succeeded == true else { throw Failure(refusal: answer.reply) }
    return answer
  }

  /// Sends one request and waits for the line that ends it.
  private func answer(
    to request: [UInt8], over connection: ControlConnection, within limit: Duration?
  ) throws(Failure) -> Answer {
    connection.send(request)
    do throws(ConnectionProblem) {
      return try lastLine(from: connection, until: limit.map { .current + $0 })
    } catch { throw Failure(error) }
  }

  private func lastLine(
    from connection: ControlConnection, until deadline: Instant?
  ) throws(ConnectionProblem) -> Answer {
    while let line = try connection.receive(until: deadline) {
      let reply = try Reply(line, from: socket)
      if reply.succeeded != nil { return (String(decoding: line, as: UTF8.self), reply) }
    }
    throw .closed(path: socket)
  }

  private func show(_ text: String) throws(Failure) {
    do throws(SystemFailure) { try console.write(text) } catch { throw Failure(error) }
  }
}
