import ImgdConnection
import ImgdSystem
import ImgdWire

/// The surroundings of a command: its streams, the daemon's socket, and how it is to behave.
struct Context {
  /// The longest wait for an answer that needs no network and no disk.
  static let patience = Duration.seconds(10)

  let console: Console
  let socket: String
  let manner: Manner
  let environment: [String: String]

  var asJSON: Bool { manner.asJSON }

  /// The colours of what goes to standard output.
  var palette: Palette { Palette(manner.colour, isTerminal: console.terminals.output, environment: environment) }

  /// Connects to the daemon; with `mayWait`, waits until it has room for the connection.
  func connect(mayWait: Bool = true) throws(Failure) -> ControlConnection {
    do throws(ConnectionProblem) {
      let connection = try ControlConnection(path: socket, mayWait: mayWait)
      if manner.isVerbose {
        console.remark("connected to \(socket)")
        connection.onLine = { line, direction in
          console.remark("\(direction == .sent ? ">" : "<") \(String(decoding: line, as: UTF8.self))")
        }
      }
      return connection
    } catch { throw Failure(error) }
  }

  /// The answer to one request; an error becomes a failure.
  func ask(
    _ request: Request, with file: SharedDescriptor? = nil, over connection: ControlConnection,
    within limit: Duration? = patience
  ) throws(Failure) -> Answer {
    let answer = try answer(to: request, with: file, over: connection, within: limit)
    guard answer.reply.succeeded == true else { throw Failure(refusal: answer.reply) }
    return answer
  }

  /// The line that ends a request, even if it is an error.
  func answer(
    to request: Request, with file: SharedDescriptor? = nil, over connection: ControlConnection, within limit: Duration?
  ) throws(Failure) -> Answer {
    connection.send(request.line(), with: file)
    return try nextAnswer(over: connection, until: limit.map { Instant.current + $0 })
  }

  func nextAnswer(over connection: ControlConnection, until deadline: Instant? = nil) throws(Failure) -> Answer {
    do throws(ConnectionProblem) {
      while let line = try connection.receive(until: deadline) {
        let reply = try Reply(line, from: socket)
        if reply.succeeded != nil { return Answer(line: line, reply: reply) }
      }
    } catch { throw Failure(error) }
    throw Failure(ConnectionProblem.closed(path: socket))
  }

  /// The daemon's counters as they are now.
  func statistics(over connection: ControlConnection) throws(Failure) -> (DaemonStatistics, Answer) {
    let answer = try ask(.stats, over: connection)
    return (DaemonStatistics(reply: answer.reply, moment: .current), answer)
  }

  /// The answers with all pages of a list.
  func pages(of request: (PageRequest) -> Request, over connection: ControlConnection) throws(Failure) -> [Answer] {
    var answers: [Answer] = []
    var page = PageRequest()
    repeat {
      let answer = try ask(request(page), over: connection)
      answers.append(answer)
      page.cursor = answer.reply.text("cursor")
    } while page.cursor != nil
    return answers
  }

  /// Prints a table with a heading.
  func print(_ titles: [String], _ rows: [[String]], _ sides: [Columns.Side]) throws(Failure) {
    var lines = Columns.lines([titles] + rows, sides)
    lines[0] = palette(lines[0], .heading)
    try print(lines.joined(separator: "\n"))
  }

  /// All that the daemon knows of origins; nothing where it is too old to be asked.
  func origins(over connection: ControlConnection) throws(Failure) -> [Reply] {
    var origins: [Reply] = []
    var page = PageRequest()
    repeat {
      let reply = try answer(to: .origins(page), over: connection, within: Self.patience).reply
      origins += reply.objects("origins") ?? []
      page.cursor = reply.text("cursor")
    } while page.cursor != nil
    return origins
  }

  func print(_ text: String) throws(Failure) { try print(Array(text.utf8)) }

  /// Prints data, such as a drawn picture, and a newline.
  func print(_ bytes: [UInt8]) throws(Failure) {
    do throws(SystemFailure) { try console.output(bytes + [UInt8(ascii: "\n")]) } catch { throw Failure(error) }
  }

  /// Prints an answer as the JSON that came, or as text for people.
  func print(_ answer: Answer, _ text: (Reply) -> String) throws(Failure) {
    try print(asJSON ? answer.text : text(answer.reply))
  }
}

/// The line that ended a request, and its fields.
struct Answer {
  let line: [UInt8]
  let reply: Reply

  var text: String { String(decoding: line, as: UTF8.self) }
}
