internal import ImgdSystem

/// What a usable server has said about itself.
struct ServerFacts {
  /// The life of its data.
  let generation: UInt64
  let clock: ServerClock
  /// Why nothing can be written to it; nil if it can.
  let readOnly: FleetTrouble?
}

/// One check of the server, at the beginning of a connection and from time to time: whether it may be used,
/// and whether it can be written to.
final class ServerCheck {
  private let connection: any ServerConnection
  private let keys: FleetKeys
  private var then: ((Result<ServerFacts, FleetTrouble>) -> Void)?
  private var sections: [String] = []
  private var clock = ServerClock()
  private var readOnly: FleetTrouble?

  private init(
    _ connection: any ServerConnection, _ keys: FleetKeys, then: @escaping (Result<ServerFacts, FleetTrouble>) -> Void
  ) {
    self.connection = connection
    self.keys = keys
    self.then = then
  }

  /// Calls `then` once with the outcome.
  static func begin(
    on connection: any ServerConnection, login: RedisCommand? = nil, keys: FleetKeys, loop: EventLoop,
    then: @escaping (Result<ServerFacts, FleetTrouble>) -> Void
  ) {
    let check = ServerCheck(connection, keys, then: then)
    if let login { check.ask(login) { _ in } }
    for section in ["server", "memory", "replication"] {
      check.ask(RedisCommand("INFO", section)) { reply in check.sections.append(reply.text ?? "") }
    }
    check.ask(RedisCommand("TIME")) { reply throws(FleetTrouble) in
      guard check.clock.set(reply, at: loop.now) else { throw FleetTrouble(.refused, "its answer to TIME is none") }
      try check.goOn()
    }
  }

  /// Nothing is written before it is known that the server may be used.
  private func goOn() throws(FleetTrouble) {
    if let trouble = ServerRules(sections).trouble {
      guard trouble.phase == .readOnly else { throw trouble }
      readOnly = trouble
    }
    if readOnly == nil { tryToWrite() }
    ask(RedisCommand("GET", keys.generation)) { [self] reply throws(FleetTrouble) in try finish(reply) }
  }

  /// Makes the generation if there is none, and otherwise changes nothing; a server that cannot be written to
  /// refuses the command in either case.
  private func tryToWrite() {
    var command = RedisCommand("SET", keys.generation)
    command.add(UInt64.random(in: 1 ... .max))
    command.add("NX")
    connection.send(command) { [self] reply in
      guard case .failure(let text) = reply else { return }
      // A server without memory may have a generation all the same.
      guard let trouble = FleetTrouble(serverSaid: text) else { return }
      if trouble.phase == .readOnly { readOnly = trouble } else { report(.failure(trouble)) }
    }
  }

  private func finish(_ reply: RedisReply) throws(FleetTrouble) {
    guard reply != .nothing else { throw readOnly ?? FleetTrouble(.down, "it has no memory left for the first key") }
    guard let generation = Self.generation(reply) else {
      throw FleetTrouble(.refused, "its key \(keys.generation) is somebody else's: set another Fleet.Namespace=")
    }
    report(.success(ServerFacts(generation: generation, clock: clock, readOnly: readOnly)))
  }

  /// The number in the key of the generation; nil for anything else.
  static func generation(_ reply: RedisReply) -> UInt64? { reply.text.flatMap { UInt64($0) } }

  private func ask(_ command: RedisCommand, _ take: @escaping (RedisReply) throws(FleetTrouble) -> Void) {
    connection.send(command) { [self] reply in
      guard then != nil else { return }
      do throws(FleetTrouble) { try take(reply.accepted()) } catch { report(.failure(error)) }
    }
  }

  private func report(_ outcome: Result<ServerFacts, FleetTrouble>) { then.take()?(outcome) }
}

extension RedisReply {
  /// The reply; throws if it is an error or the connection has ended.
  func accepted() throws(FleetTrouble) -> RedisReply {
    switch self {
    case .failure(let text): throw FleetTrouble(serverSaid: text) ?? FleetTrouble(.refused, "it answers “\(text)”")
    case .lost: throw FleetTrouble(.down, "the connection has ended")
    default: return self
    }
  }
}
