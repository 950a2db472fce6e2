// The requests of the gateway to the daemon, over one connection that is made when it is needed.
//
// The daemon answers in any order, so each request has an `id`. A request that was cancelled stays in the table
// until its line comes: a descriptor may come with that, and has to be taken and closed.
//
// When the connection breaks, nobody knows what became of the requests under way. None of the gateway's does harm
// twice, so each is sent once more, over a new connection; then it fails.

package import ImgdConnection
package import ImgdSystem
internal import ImgdWire

/// The gateway's connection to the daemon, made when it is needed and anew after a restart.
package final class DaemonLink {
  /// The daemon's line, whether it tells of success or failure, or why there is none.
  package typealias Outcome = Result<DaemonAnswer, ConnectionProblem>

  /// Less than half of what the daemon accepts from a connection; further ones wait for their turn.
  static let mostUnderWay = 4_096
  private static let mostWaiting = 4_096

  private let loop: EventLoop
  private let path: () -> String
  private var connection: WatchedConnection?
  private var connectedPath = ""
  private var underWay: [Int: DaemonCall] = [:]
  private var waiting = Fifo<DaemonCall>()
  private var lastID = 0
  private var randomness = SystemRandomNumberGenerator()
  /// The daemon's reason for closing the connection, which is no answer to any request.
  private var farewell: Reply?
  /// The formats that the daemon at the other end can write; nil until it has told.
  private(set) var encoders: Set<String>?

  /// The path is asked for at each connection.
  package init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    self.path = path
  }

  deinit { connection?.close() }

  /// Whether there is a connection now.
  package var isConnected: Bool { connection != nil }

  // MARK: Requests

  /// Sends a request, and calls back with its answer once, unless it is cancelled; never within this call. A
  /// daemon that is silent for longer than `limit` is given up.
  @discardableResult
  package func ask(
    _ request: RequestLine, within limit: Duration = .seconds(5),
    _ done: @escaping (Outcome) -> Void
  ) -> DaemonCall {
    begin(DaemonCall(request, isFetch: false, over: self, done), within: limit)
  }

  /// The same for a fetch, which the daemon cancels with the call.
  package func fetch(
    _ request: RequestLine, within limit: Duration, _ done: @escaping (Outcome) -> Void
  ) -> DaemonCall {
    begin(DaemonCall(request, isFetch: true, over: self, done), within: limit)
  }

  /// Calls back with the formats that the daemon can write, of which there may be none: at once if it has told,
  /// or else when it tells.
  func learnEncoders(_ then: @escaping (Set<String>) -> Void) {
    if let encoders { return then(encoders) }
    ask(RequestLine("hello")) { [unowned self] outcome in
      let told = (try? outcome.get())?.reply.object("decode")?.texts("encodes") ?? []
      // A decoder that cannot be started now may be another time.
      if !told.isEmpty { encoders = Set(told) }
      then(Set(told))
    }
  }

  /// Subscribes to topics of the daemon's events, over a connection of its own.
  package func subscribe(
    to topics: [String], onBegin: @escaping (Reply) -> Void = { _ in },
    onEvent: @escaping (Reply) -> Void, onLost: @escaping () -> Void
  ) -> DaemonEvents {
    DaemonEvents(
      on: loop, path: connection == nil ? path() : connectedPath, topics: topics, onBegin: onBegin,
      onEvent: onEvent, onLost: onLost)
  }

  private func begin(_ call: DaemonCall, within limit: Duration) -> DaemonCall {
    call.alarm = loop.schedule(after: limit) { [weak self, weak call] in
      call?.giveUp(.silent(path: self?.connectedPath ?? ""))
    }
    if underWay.count < Self.mostUnderWay {
      send(call)
    } else if waiting.count < Self.mostWaiting {
      waiting.append(call)
    } else {
      fail(call, .failed(path: connectedPath, reason: "too many requests wait for it"))
    }
    return call
  }

  private func sendWaiting() {
    while underWay.count < Self.mostUnderWay, let call = waiting.popFirst() { send(call) }
  }

  private func send(_ call: DaemonCall) {
    guard !call.hasEnded else { return }
    do throws(ConnectionProblem) {
      let connection = try openConnection()
      lastID += 1
      underWay[lastID] = call
      connection.send(call.line(id: lastID, using: &randomness))
    } catch { fail(call, error) }
  }

  /// Ends a call that nobody may know of yet.
  private func fail(_ call: DaemonCall, _ problem: ConnectionProblem) {
    loop.atTickEnd { call.end(.failure(problem)) }
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

  /// Has the daemon cancel a fetch.
  func cancel(_ receipt: ReceiptID) {
    lastID += 1
    var line = RequestLine("cancel")
    line.add("id", lastID)
    line.add("receipt", receipt.description)
    connection?.send(line.bytes)
  }

  // MARK: Answers

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: connectedPath)
      let descriptor = reply.objects("fds")?.first == nil ? nil : connection?.takeDescriptor()
      guard let id = reply.id else { return noteStray(reply) }
      // Nobody waits for the answer to a `cancel`, or for an event.
      guard reply.succeeded != nil, let call = underWay.removeValue(forKey: id) else { return }
      call.end(.success(DaemonAnswer(reply, descriptor)))
      sendWaiting()
    } catch { connection?.breakOff(error) }
  }

  /// A line that names no request: the daemon is about to hang up, or has skipped a line as too long. It did
  /// not read whose that was; if any was too long, then so was the longest that has no answer.
  private func noteStray(_ reply: Reply) {
    guard reply.errorCode == ReplyCode.lineTooLong.rawValue else { return farewell = reply }
    guard let longest = underWay.max(by: { $0.value.length < $1.value.length }) else { return }
    underWay[longest.key] = nil
    longest.value.end(.success(DaemonAnswer(reply, nil)))
    sendWaiting()
  }

  private func lose(_ problem: ConnectionProblem?) {
    connection = nil
    encoders = nil
    let reason = farewell.take()
    // A daemon that stops has taken in nothing of what it has not answered.
    let mayRepeat = reason == nil || reason?.errorCode == ReplyCode.shuttingDown.rawValue
    let calls = underWay.sorted { $0.key < $1.key }.map(\.value)
    underWay = [:]
    for call in calls {
      if mayRepeat, call.beginRepeat() {
        send(call)
      } else if let reason {
        call.end(.success(DaemonAnswer(reason, nil)))
      } else {
        call.end(.failure(problem ?? .closed(path: connectedPath)))
      }
    }
    sendWaiting()
  }
}
