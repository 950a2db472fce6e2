// The requests of a client, over one connection that is made when it is needed.
//
// The daemon answers in any order, so each request has an `id`. A request that was cancelled here stays in
// the table until its line comes: a descriptor may come with that, and has to be taken and closed.
//
// When the connection breaks, nobody knows what became of the requests under way. Those that do no harm
// twice are sent once more, over a new connection; the others fail.

internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// All requests of a client but its subscriptions.
final class Conversation {
  /// A request that the daemon has not answered.
  private struct Entry {
    let call: Call
    let receipt: ReceiptID?
    let length: Int
    let isRepeat: Bool
  }

  /// Less than half of what the daemon accepts from a connection; further ones wait for their turn.
  private static let mostUnderWay = 4_096

  private let loop: EventLoop
  private let path: () -> String
  private var connection: WatchedConnection?
  private var connectedPath = ""
  private var underWay: [Int: Entry] = [:]
  private var waiting = Fifo<Call>()
  /// The daemon's reason for closing the connection, which is no answer to any request.
  private var farewell: ImgdError?

  init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    self.path = path
  }

  // MARK: Requests

  /// Sends a request, as soon as there are few enough.
  func begin(_ call: Call) {
    waiting.append(call)
    sendWaiting()
  }

  /// Has the daemon cancel a fetch that nobody waits for any more.
  func cancel(_ call: Call) {
    guard let receipt = underWay[call.id]?.receipt else { return }
    var line = RequestLine("cancel")
    line.add("id", Call.nextID())
    line.add("receipt", receipt.description)
    connection?.send(line.bytes)
  }

  /// Ends all requests and the connection.
  func close() {
    connection.take()?.close()
    while let call = waiting.popFirst() { call.end(.failure(ConnectionError.clientClosed)) }
    for entry in removeAll() { entry.call.end(.failure(ConnectionError.clientClosed)) }
  }

  private func sendWaiting() {
    while underWay.count < Self.mostUnderWay, let call = waiting.popFirst() {
      send(call, isRepeat: false)
    }
  }

  private func send(_ call: Call, isRepeat: Bool) {
    guard !call.hasEnded else { return }
    do throws(ConnectionProblem) {
      let connection = try openConnection()
      let receipt = call.isFetch ? ReceiptID.random() : nil
      let line = call.line(receipt)
      underWay[call.id] = Entry(
        call: call, receipt: receipt, length: line.count, isRepeat: isRepeat)
      connection.send(line)
    } catch { call.end(.failure(ConnectionError(error))) }
  }

  private func openConnection() throws(ConnectionProblem) -> WatchedConnection {
    if let connection { return connection }
    connectedPath = path()
    let made = try WatchedConnection(
      path: connectedPath, on: loop, onLine: { [unowned self] in receive($0) },
      onEnd: { [unowned self] in lose($0) })
    connection = made
    return made
  }

  // MARK: Answers

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: connectedPath)
      let description = reply.objects("fds")?.first
      let descriptor = description == nil ? nil : connection?.takeDescriptor()
      guard let id = reply.id else { return try noteStray(reply) }
      // Nobody waits for the answer to a `cancel`.
      guard let entry = underWay[id] else { return }
      guard let succeeded = reply.succeeded else { return entry.call.note(reply) }
      underWay[id] = nil
      end(entry.call, reply, succeeded, description, descriptor)
      sendWaiting()
    } catch { connection?.breakOff(error) }
  }

  private func end(
    _ call: Call, _ reply: Reply, _ succeeded: Bool, _ description: Reply?,
    _ descriptor: consuming FileDescriptor?
  ) {
    // Nothing is mapped for a request that was cancelled.
    guard !call.hasEnded else { return }
    guard succeeded else { return call.end(.failure(ImgdError(reply))) }
    guard let description else { return call.end(.success(Answer(reply: reply, memory: nil))) }
    do throws(ConnectionProblem) {
      let memory = try PictureMemory(description, descriptor, from: connectedPath)
      call.end(.success(Answer(reply: reply, memory: memory)))
    } catch { call.end(.failure(ConnectionError(error))) }
  }

  /// A line that names no request: the daemon is about to hang up, or has skipped a line as too long. It
  /// did not read whose that was; if any was too long, then so was the longest that has no answer.
  private func noteStray(_ reply: Reply) throws(ConnectionProblem) {
    guard reply.succeeded == false else {
      throw .strange(path: connectedPath, what: "its answer names no request: \(reply.json)")
    }
    let error = ImgdError(reply)
    guard error.code == .lineTooLong else { return farewell = error }
    guard let longest = underWay.values.max(by: { $0.length < $1.length }) else { return }
    underWay[longest.call.id] = nil
    longest.call.end(.failure(error))
    sendWaiting()
  }

  // MARK: A broken connection

  private func lose(_ problem: ConnectionProblem?) {
    connection = nil
    let reason: any Error = farewell ?? ConnectionError(problem ?? .closed(path: connectedPath))
    // A daemon that stops has taken in nothing of what it has not answered.
    let mayRepeat = farewell == nil || farewell?.code == .shuttingDown
    farewell = nil
    for entry in removeAll() {
      let isAgain = mayRepeat && entry.call.isRepeatable && !entry.isRepeat
      if isAgain { send(entry.call, isRepeat: true) } else { entry.call.end(.failure(reason)) }
    }
    sendWaiting()
  }

  /// Empties the table; its entries in the order in which they were made.
  private func removeAll() -> [Entry] {
    defer { underWay = [:] }
    return underWay.values.sorted { $0.call.id < $1.call.id }
  }
}

extension ReceiptID {
  /// A new one, from the system's random numbers.
  static func random() -> ReceiptID {
    .random(using: (.random(in: 0 ... .max), .random(in: 0 ... .max)))
  }
}
