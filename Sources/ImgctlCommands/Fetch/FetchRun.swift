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

  private let options: FetchOptions
  private let urls: [String]
  private let destination: Destination
  private let connection: ControlConnection
  private let console: Console
  private let asJSON: Bool
  private let showsProgress: Bool
  private var progress: ProgressLine
  private var sent = 0
  /// The numbers of the URLs that were requested and not answered yet.
  private var open: Set<Int> = []
  private var outcome = ExitCode.done

  init(
    options: FetchOptions, urls: [String], destination: Destination,
    connection: ControlConnection, console: Console, asJSON: Bool, showsProgress: Bool
  ) {
    self.options = options
    self.urls = urls
    self.destination = destination
    self.connection = connection
    self.console = console
    self.asJSON = asJSON
    self.showsProgress = showsProgress
    progress = ProgressLine(console, isWanted: showsProgress && !asJSON)
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
      connection.send(request(sent).bytes)
      open.insert(sent)
      sent += 1
    }
  }

  private func request(_ id: Int) -> RequestLine {
    var line = RequestLine("fetch")
    line.add("id", id)
    line.add("url", urls[id])
    if destination.takesBytes { line.add("deliver", "fd") }
    if showsProgress, asJSON || progress.isShown { line.add("progress", true) }
    options.add(to: &line)
    return line
  }

  private func nextLine() throws(Failure) -> [UInt8] {
    let deadline = options.timeout.map { Instant.current + $0 + Self.grace }
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
    if asJSON { try write(String(decoding: line, as: UTF8.self)) }
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
      if !asJSON { try write(Self.text(urls[id], reply)) }
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
    if !asJSON { try console.write(path) }
  }

  /// The path of a picture's file, or a description of a picture that is in no file.
  private static func text(_ url: String, _ reply: Reply) -> String {
    if let path = reply.text("path") { return path }
    let size = "\(reply.number("width") ?? 0)x\(reply.number("height") ?? 0)"
    let bytes = reply.number("bytes") ?? 0
    let format = reply.text("format") ?? "?"
    let source = reply.text("source") ?? "?"
    return printable("\(url): \(format) \(size) \(bytes) bytes (\(source))")
  }

  private func fail(_ id: Int, _ sentence: String, _ exitCode: ExitCode) {
    console.complain("\(urls[id]): \(sentence)")
    outcome = outcome.joined(exitCode)
  }

  private func write(_ line: String) throws(Failure) {
    do throws(SystemFailure) { try console.write(line) } catch { throw Failure(error) }
  }
}
