// The daemon answers in any order, so each request has an `id`. A request that was given up stays in the table until
// its line comes: a descriptor may come with the line, and has to be taken and closed.
//
// When the connection breaks, nobody knows what became of the requests under way. Those that do no harm when repeated
// are sent once more, over a new connection; the others fail.

package import ImgdSystem
package import ImgdWire

/// The requests of a program over one connection, made when it is needed and anew after a restart of the daemon.
package final class RequestChannel {
  /// Less than half of what the daemon accepts from a connection; further ones wait for their turn.
  package static let mostUnderWay = 4_096

  private let loop: EventLoop
  private let path: () -> String
  private let mostWaiting: Int
  private var connection: WatchedConnection?
  private var connectedPath = ""
  private var underWay: [Int: DaemonCall] = [:]
  private var waiting = Fifo<DaemonCall>()
  private var lastID = 0
  /// The receipt of the last fetch, in two words: the kernel's random numbers are asked for once, and then counted on.
  private var lastReceipt: [UInt64] = [0, 0]
  /// The daemon's reason for closing the connection, which is no answer to any request.
  private var farewell: Reply?

  /// `path` is called for each connection. Requests fail when `mostWaiting` others already wait for their turn.
  package init(on loop: EventLoop, mostWaiting: Int = .max, path: @escaping () -> String) {
    self.loop = loop
    self.mostWaiting = mostWaiting
    self.path = path
    Randomness.fill(&lastReceipt)
  }

  deinit {
    connection?.close()
    for call in underWay.values { call.leave() }
    while let call = waiting.popFirst() { call.leave() }
  }

  /// Whether there is a connection now.
  package var isConnected: Bool { connection != nil }

  /// The socket of the connection, or that of the next one.
  package var socketPath: String { connection == nil ? path() : connectedPath }

  // MARK: Requests

  /// Sends a request as soon as few enough are under way. It ends after this call has returned, unless it is given up;
  /// a daemon that is silent for longer than `limit` is given up.
  package func begin(_ call: DaemonCall, within limit: Duration? = nil) {
    call.enter(self, on: loop, within: limit)
    if underWay.count < Self.mostUnderWay {
      send(call)
    } else if waiting.count < mostWaiting {
      waiting.append(call)
    } else {
      fail(call, .failed(path: connectedPath, reason: "too many requests wait for it"))
    }
  }

  /// Waits for the answer to a fetch that was sent elsewhere over a connection, which is the channel's first one now.
  package func awaitAnswer(to call: DaemonCall, id: Int, receipt: ReceiptID, over connection: ControlConnection) {
    call.enter(self, on: loop, within: nil)
    call.receipt = receipt
    lastID = id
    underWay[id] = call
    connectedPath = connection.path
    do throws(ConnectionProblem) { self.connection = try watch(connection) } catch {
      underWay[id] = nil
      return fail(call, error)
    }
    self.connection?.exchange()
  }

  /// Ends the connection, and all requests as if the daemon had ended it.
  package func close() {
    connection.take()?.close()
    let problem = ConnectionProblem.closed(path: connectedPath)
    while let call = waiting.popFirst() { call.finish(.failure(problem)) }
    for call in removeAll() { call.finish(.failure(problem)) }
  }

  /// Has the daemon cancel a fetch.
  func cancel(_ receipt: ReceiptID) {
    lastID += 1
    connection?.send(Request.cancel(.receipt(receipt)).line(id: .integer(Int64(lastID))))
  }

  private func sendWaiting() { while underWay.count < Self.mostUnderWay, let call = waiting.popFirst() { send(call) } }

  private func send(_ call: DaemonCall) {
    guard !call.hasEnded else { return }
    do throws(ConnectionProblem) {
      let connection = try openConnection()
      lastID += 1
      underWay[lastID] = call
      lastReceipt[1] &+= 1
      let line = call.line(id: lastID, receipt: .random(using: (lastReceipt[0], lastReceipt[1])))
      connection.send(line, with: call.descriptor)
    } catch { fail(call, error) }
  }

  /// Fails a call at the end of the tick, since its owner may not hold it yet.
  private func fail(_ call: DaemonCall, _ problem: ConnectionProblem) {
    call.leave()
    loop.atTickEnd { call.finish(.failure(problem)) }
  }

  private func openConnection() throws(ConnectionProblem) -> WatchedConnection {
    if let connection { return connection }
    connectedPath = path()
    let made = try watch(ControlConnection(path: connectedPath))
    connection = made
    return made
  }

  private func watch(_ connection: ControlConnection) throws(ConnectionProblem) -> WatchedConnection {
    try WatchedConnection(
      connection, on: loop, onLine: { [channel = Unowned(self)] in channel.object.receive($0) },
      onEnd: { [channel = Unowned(self)] in channel.object.lose($0) })
  }

  // MARK: Answers

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: connectedPath)
      let descriptor = reply.objects("fds")?.first == nil ? nil : connection?.takeDescriptor()
      guard let id = reply.id else { return try noteStray(reply) }
      // Nobody waits for the answer to a `cancel`.
      guard let call = underWay[id] else { return }
      guard reply.succeeded != nil else { return call.passOn(reply) }
      underWay[id] = nil
      call.finish(.success(DaemonAnswer(reply, descriptor)))
      sendWaiting()
    } catch { connection?.breakOff(error) }
  }

  /// A line that names no request: the daemon is about to hang up, or has skipped a line as too long. The daemon did
  /// not read which request that was; but if any line was too long, so was the longest one without an answer.
  private func noteStray(_ reply: Reply) throws(ConnectionProblem) {
    guard reply.succeeded == false else {
      throw .strange(path: connectedPath, what: "its answer names no request: \(reply.json)")
    }
    guard reply.errorCode == ReplyCode.lineTooLong.rawValue else { return farewell = reply }
    guard let longest = underWay.max(by: { $0.value.length < $1.value.length }) else { return }
    underWay[longest.key] = nil
    longest.value.finish(.success(DaemonAnswer(reply, nil)))
    sendWaiting()
  }

  // MARK: A broken connection

  private func lose(_ problem: ConnectionProblem?) {
    connection = nil
    let reason = farewell.take()
    // A daemon that stops has taken in none of the requests that it has not answered.
    let mayRepeat = reason == nil || reason?.errorCode == ReplyCode.shuttingDown.rawValue
    for call in removeAll() {
      if mayRepeat, call.beginRepeat() {
        send(call)
      } else if let reason {
        call.finish(.success(DaemonAnswer(reason, nil)))
      } else {
        call.finish(.failure(problem ?? .closed(path: connectedPath)))
      }
    }
    sendWaiting()
  }

  /// Empties the table, and returns its calls in the order in which they were sent.
  private func removeAll() -> [DaemonCall] {
    defer { underWay = [:] }
    return underWay.sorted { $0.key < $1.key }.map { $0.value }
  }
}

/// A request over a `RequestChannel`: it ends once, with its answer or without one, or is given up.
package final class DaemonCall {
  /// The daemon's line, whether it reports success or failure, or the reason why there is none.
  package typealias Outcome = Result<DaemonAnswer, ConnectionProblem>

  /// Nil once the call has ended, to free its memory: the answer of a daemon that hangs may be long in coming.
  private var request: Request?
  /// Goes with each attempt, and is let go with the request.
  fileprivate var descriptor: SharedDescriptor?
  private let isRepeatable: Bool
  private let onEvent: (Reply) -> Void
  private var done: ((Outcome) -> Void)?
  /// The channel that carries the call, until the call has ended.
  private var channel: Unowned<RequestChannel>?
  /// The receipt of a fetch as it was sent last; nil before that.
  fileprivate(set) var receipt: ReceiptID?
  private var isRepeat = false
  /// Fires when the daemon's time is over.
  private var alarm: Timer?
  /// The length of its line in bytes.
  private(set) var length = 0

  /// A request that is not sent yet. A fetch that is given up is cancelled at the daemon; a repeatable request does no
  /// harm if the daemon carries it out twice.
  package init(
    _ request: Request, with descriptor: SharedDescriptor? = nil, isRepeatable: Bool = true,
    onEvent: @escaping (Reply) -> Void = { _ in }, _ done: @escaping (Outcome) -> Void
  ) {
    self.request = request
    self.descriptor = descriptor
    self.isRepeatable = isRepeatable
    self.onEvent = onEvent
    self.done = done
  }

  deinit { alarm?.cancel() }

  /// Ends the call, since nobody waits for it any more: a fetch is cancelled at the daemon, too.
  package func cancel() {
    let channel = channel
    guard close() != nil, let receipt else { return }
    channel?.object.cancel(receipt)
  }

  var hasEnded: Bool { done == nil }

  /// Makes the call belong to a channel; the daemon has to answer within `limit`, if there is one.
  func enter(_ channel: RequestChannel, on loop: EventLoop, within limit: Duration?) {
    self.channel = Unowned(channel)
    guard let limit else { return }
    alarm = loop.schedule(after: limit) { [call = Unowned(self)] in call.object.giveUp() }
  }

  /// The line to send; each attempt of a fetch has a receipt of its own.
  func line(id: Int, receipt: ReceiptID) -> [UInt8] {
    guard var request else { preconditionFailure("only a call that goes on is sent") }
    if case .fetch(var fetch) = request {
      self.receipt = receipt
      fetch.extras.receipt = receipt
      request = .fetch(fetch)
    }
    let bytes = request.line(id: .integer(Int64(id)))
    length = bytes.count
    return bytes
  }

  /// Returns whether the call may be sent once more.
  func beginRepeat() -> Bool {
    defer { isRepeat = true }
    return isRepeatable && !isRepeat && !hasEnded
  }

  /// Passes on an event, unless nobody waits any more.
  func passOn(_ event: Reply) { if !hasEnded { onEvent(event) } }

  func finish(_ outcome: Outcome) { close()?(outcome) }

  /// Detaches the call from its channel, which may end before the call does.
  func leave() { channel = nil }

  /// Ends the call, since the daemon's time is over.
  private func giveUp() {
    guard let channel else { return }
    let done = close()
    if let receipt { channel.object.cancel(receipt) }
    done?(.failure(.silent(path: channel.object.socketPath)))
  }

  private func close() -> ((Outcome) -> Void)? {
    alarm.take()?.cancel()
    channel = nil
    request = nil
    descriptor = nil
    return done.take()
  }
}

/// The line that ended a request, and the picture that came with it.
package final class DaemonAnswer {
  package let reply: Reply
  private var descriptor: FileDescriptor?

  package init(_ reply: Reply, _ descriptor: consuming FileDescriptor?) {
    self.reply = reply
    self.descriptor = descriptor
  }

  /// Whether a picture came with the answer and was not taken yet.
  package var hasDescriptor: Bool { descriptor != nil }

  /// The picture, if one came with the answer and was not taken yet.
  package func takeDescriptor() -> FileDescriptor? { descriptor.take() }
}
