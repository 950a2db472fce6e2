// All URLs go over one connection. There are always enough requests under way to keep the daemon busy,
// and never so many that its limit for one client is reached. Answers come in any order; the number of a
// URL is the `id` of its request.

import ImgdConnection
import ImgdSystem

/// A fetch of any number of URLs, from the first request to the last answer.
final class FetchRun {
  private static let mostAtOnce = 256
  /// The extra time after a fetch's deadline in which the daemon can report the timeout.
  private static let grace = Duration.seconds(5)

  private let arguments: FetchArguments
  private let urls: [String]
  private let destination: Destination
  private let connection: ControlConnection
  private let console: Console
  private var progress: ProgressLine
  private var sent = 0
  /// The numbers of the URLs that were requested and not answered yet.
  private var open: Set<Int> = []
  private var outcome = ExitCode.done

  init(
    arguments: FetchArguments, urls: [String], destination: Destination,
    connection: ControlConnection, console: Console
  ) {
    self.arguments = arguments
    self.urls = urls
    self.destination = destination
    self.connection = connection
    self.console = console
    progress = ProgressLine(console, isWanted: arguments.progress && !arguments.json)
  }

  /// Fetches all URLs; the result is the exit code.
  func finish() throws(Failure) -> ExitCode {
    sendMore()
    while !open.isEmpty {
      try take(try nextLine())
      sendMore()
    }
    progress.clear()
    return outcome
  }

  private func sendMore() {
    while sent < urls.count, open.count < Self.mostAtOnce {
      connection.send(
        Requests.fetch(
          urls[sent], id: sent, arguments, withBytes: destination.takesBytes,
          withProgress: arguments.progress && (arguments.json || progress.isShown)))
      open.insert(sent)
      sent += 1
    }
  }

  private func nextLine() throws(Failure) -> [UInt8] {
    let deadline = arguments.timeout.map { Instant.current + $0 + Self.grace }
    do throws(ConnectionProblem) {
      guard let line = try connection.receive(until: deadline) else {
        throw ConnectionProblem.closed(path: connection.path)
      }
      return line
    } catch {
      progress.clear()
      throw Failure(error)
    }
  }

  private func take(_ line: [UInt8]) throws(Failure) {
    let reply = try reply(line)
    guard let id = reply.id, open.contains(id) else {
      // An error without an id is about the connection: the daemon has read no request yet.
      if reply.succeeded == false { throw Failure(refusal: reply) }
      return
    }
    if arguments.json { try write(String(decoding: line, as: UTF8.self)) }
    guard let succeeded = reply.succeeded else { return progress.show(reply, urls[id]) }
    open.remove(id)
    progress.clear()
    if succeeded { try deliver(reply, id) } else { fail(id, reply.complaint, reply.exitCode) }
  }

  private func reply(_ line: [UInt8]) throws(Failure) -> Reply {
    do throws(ConnectionProblem) {
      return try Reply(line, from: connection.path)
    } catch { throw Failure(error) }
  }

  private func deliver(_ reply: Reply, _ id: Int) throws(Failure) {
    guard destination.takesBytes else {
      if !arguments.json { try write(AnswerText.fetched(urls[id], reply)) }
      return
    }
    guard let picture = connection.takeDescriptor() else {
      return fail(id, "the daemon sent no picture with its answer", .failed)
    }
    do throws(SystemFailure) {
      try store(picture, id, format: reply.text("format") ?? "")
    } catch { fail(id, error.description, .failed) }
  }

  private func store(
    _ picture: borrowing FileDescriptor, _ id: Int, format: String
  ) throws(SystemFailure) {
    guard let path = destination.path(index: id, format: format) else {
      return try console.write(picture)
    }
    try OutputFile.write(picture, to: path)
    if !arguments.json { try console.write(path) }
  }

  private func fail(_ id: Int, _ sentence: String, _ exitCode: ExitCode) {
    console.complain("\(urls[id]): \(sentence)")
    outcome = outcome.joined(exitCode)
  }

  private func write(_ line: String) throws(Failure) {
    do throws(SystemFailure) { try console.write(line) } catch { throw Failure(error) }
  }
}
