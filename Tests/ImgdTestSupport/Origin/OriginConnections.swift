import Glibc

/// The state that the origin's threads share; `OriginServer` is the test's access to it.
final class OriginConnections: Sendable {
  struct State {
    var plans: [String: [OriginAnswer]] = [:]
    /// Answers what there is no plan for.
    var planning: @Sendable (OriginRequest) -> OriginAnswer = { _ in .status(404) }
    var requests: [OriginRequest] = []
    var counts: [String: Int] = [:]
    var accepted = 0
    var open: Set<CInt> = []
    var isStopped = false
  }

  let state = Shared(State())
  private let listeners = Shared<[CInt]>([])
  private let keepsRequests: Bool

  init(keepsRequests: Bool) { self.keepsRequests = keepsRequests }

  func accept(from listener: CInt) {
    listeners.with { $0.append(listener) }
    detachThread { [self] in
      while let connection = OriginSocket.accept(listener) { serve(connection) }
      close(listener)
    }
  }

  /// Ends every thread's blocking call; each thread closes its own socket.
  func stop() {
    let first = state.with { state in
      defer { state.isStopped = true }
      for connection in state.open { shutdown(connection, CInt(SHUT_RDWR)) }
      return !state.isStopped
    }
    guard first else { return }
    for listener in listeners.with({ $0 }) { shutdown(listener, CInt(SHUT_RDWR)) }
  }

  func serve(_ connection: CInt) {
    let number: Int? = state.with { state in
      guard !state.isStopped else { return nil }
      state.accepted += 1
      state.open.insert(connection)
      return state.accepted
    }
    guard let number else { return _ = close(connection) }
    detachThread { [self] in
      let reader = RequestReader(connection, number: number)
      while let request = reader.next(), perform(answer(request).steps(request), on: connection) {}
      // Removed and closed in one step, so that no other thread shuts down a number that is in use
      // again.
      state.with { state in
        state.open.remove(connection)
        close(connection)
      }
    }
  }

  private func answer(_ request: OriginRequest) -> OriginAnswer {
    let (planned, planning) = state.with { state in
      if keepsRequests {
        state.requests.append(request)
        state.counts[request.path, default: 0] += 1
      }
      let planned = state.plans[request.path] ?? []
      if planned.count > 1 { state.plans[request.path] = Array(planned.dropFirst()) }
      return (planned.first, state.planning)
    }
    return planned ?? planning(request)
  }

  /// False when the connection is over.
  private func perform(_ steps: [OriginAnswer.Step], on connection: CInt) -> Bool {
    for step in steps {
      switch step {
      case .send(let bytes): guard OriginSocket.send(bytes, to: connection) else { return false }
      case .wait(let gate): gate.pass()
      case .repeating(let bytes): while OriginSocket.send(bytes, to: connection) {}
      case .silence: OriginSocket.waitForEnd(of: connection)
      case .close: return false
      case .fail: preconditionFailure("a connection cannot fail by name: plan what the origin does")
      case .reset:
        OriginSocket.breakOff(connection)
        return false
      }
    }
    return true
  }
}

/// Reads the heads of requests from a connection, one after the other.
private final class RequestReader {
  private let connection: CInt
  private let number: Int
  private var waiting: [UInt8] = []

  init(_ connection: CInt, number: Int) {
    self.connection = connection
    self.number = number
  }

  /// nil when the client has gone.
  func next() -> OriginRequest? {
    while true {
      if let end = headEnd() {
        let text = String(decoding: waiting.prefix(end), as: UTF8.self)
        waiting.removeFirst(end)
        return OriginRequest(text, connection: number)
      }
      var room = [UInt8](repeating: 0, count: 16_384)
      let count = recv(connection, &room, room.count, 0)
      guard count > 0 else { return nil }
      waiting += room.prefix(count)
    }
  }

  private func headEnd() -> Int? {
    guard waiting.count >= 4 else { return nil }
    let mark = Array("\r\n\r\n".utf8)
    return (4...waiting.count).first { waiting[($0 - 4)..<$0].elementsEqual(mark) }
  }
}
