internal import ImgdSystem

struct ServerFacts {
  /// The life of its data; 0 for a server of pictures alone, whose data have none.
  let generation: UInt64
  let clock: ServerClock
  /// Why nothing can be written to it; nil if it can.
  let readOnly: FleetTrouble?
  /// The bytes that it keeps at most, 0 for no limit; nil where it does not say.
  let mostMemory: Int?
}

/// One check, at the beginning and from time to time: whether the server may be used, and be written to.
final class ServerCheck {
  /// How long the mark of a trial stays.
  private static let trialMilliseconds = "1000"

  private let connection: any ServerConnection
  private let duty: ServerLink.Duty
  private let keys: FleetKeys
  private let loop: EventLoop
  private var then: ((Result<ServerFacts, FleetTrouble>) -> Void)?
  private var sections: [String] = []
  private var clock = ServerClock()
  private var readOnly: FleetTrouble?
  private var mostMemory: Int?

  /// Begins at once; `then` is called once with the outcome.
  @discardableResult init(
    on connection: any ServerConnection, for duty: ServerLink.Duty, login: RedisCommand? = nil, keys: FleetKeys,
    loop: EventLoop, then: @escaping (Result<ServerFacts, FleetTrouble>) -> Void
  ) {
    self.connection = connection
    self.duty = duty
    self.keys = keys
    self.loop = loop
    self.then = then
    if let login { ask(login) { _ in } }
    for section in ["server", "memory", "replication"] {
      ask(RedisCommand("INFO", section)) { [self] reply in sections.append(reply.text ?? "") }
    }
    ask(RedisCommand("TIME")) { [self] reply throws(FleetTrouble) in
      guard clock.set(reply, at: loop.now) else { throw FleetTrouble(.refused, "its answer to TIME is none") }
      try goOn()
    }
  }

  /// Nothing is written before it is known that the server may be used.
  private func goOn() throws(FleetTrouble) {
    let rules = ServerRules(sections)
    mostMemory = rules.mostMemory
    if let trouble = rules.trouble(for: duty) {
      guard trouble.phase == .readOnly else { throw trouble }
      readOnly = trouble
    }
    switch duty {
    case .purges:
      // The generation, if there is none.
      if readOnly == nil { tryToWrite(keys.generation, String(DataLife.begun(at: clock.time(at: loop.now))), "NX") }
      ask(RedisCommand("GET", keys.generation)) { [self] reply throws(FleetTrouble) in try finish(reply) }
    case .pictures:
      if readOnly == nil { tryToWrite(keys.trial, "1", "PX", Self.trialMilliseconds) }
      ask(RedisCommand("GET", keys.trial)) { [self] _ in succeed(generation: 0) }
    }
  }

  /// A server that cannot be written to refuses the command in any case.
  private func tryToWrite(_ words: String...) {
    var command = RedisCommand("SET")
    for word in words { command.add(word) }
    connection.send(command) { [self] reply in
      guard case .failure(let text) = reply else { return }
      // A server without memory may have a generation, and pictures, all the same.
      guard let trouble = FleetTrouble(serverSaid: text) else { return }
      if trouble.phase == .readOnly { readOnly = trouble } else { report(.failure(trouble)) }
    }
  }

  private func finish(_ reply: RedisReply) throws(FleetTrouble) {
    guard reply != .nothing else { throw readOnly ?? FleetTrouble(.down, "it has no memory left for the first key") }
    guard let generation = Self.generation(reply) else {
      throw FleetTrouble(.refused, "its key \(keys.generation) is somebody else's: set another Fleet.Namespace=")
    }
    succeed(generation: generation)
  }

  private func succeed(generation: UInt64) {
    report(
      .success(ServerFacts(generation: generation, clock: clock, readOnly: readOnly, mostMemory: mostMemory)))
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

/// Judges by its answers to `INFO`, which need no further rights, whether a server is suitable.
struct ServerRules {
  private static let oldest = 7

  private var facts: [Substring: Substring] = [:]

  init(_ sections: [String]) {
    for section in sections {
      for line in section.utf8.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
        facts[Substring(line[..<colon])] = Substring(line[line.index(after: colon)...])
      }
    }
  }

  /// Its `maxmemory`, in bytes; 0 where there is no limit.
  var mostMemory: Int? { facts["maxmemory"].flatMap { Int($0) } }

  /// What is wrong with the server; nil for one that can be read and written.
  func trouble(for duty: ServerLink.Duty) -> FleetTrouble? {
    if let version = facts["redis_version"], let major = Int(version.prefix { $0 != "." }), major < Self.oldest {
      return FleetTrouble(.refused, "its version is \(shown(version)); Redis 7.0 or Valkey 7.2 is needed")
    }
    guard let policy = facts["maxmemory_policy"], facts["redis_version"] != nil else {
      return FleetTrouble(.refused, "its answer to INFO names no version or no maxmemory_policy")
    }
    return trouble(policy: policy, for: duty) ?? (facts["role"] == "slave" ? .replica : nil)
  }

  /// Pictures may go at any time, purges never.
  private func trouble(policy: Substring, for duty: ServerLink.Duty) -> FleetTrouble? {
    let policyText = "its maxmemory-policy is \(shown(policy)), with which"
    switch duty {
    case .purges where !policy.hasPrefix("volatile-"):
      return FleetTrouble(
        .refused, "\(policyText) purges would be lost or nothing be kept: set maxmemory-policy volatile-lfu")
    case .pictures where policy == "noeviction":
      return FleetTrouble(
        .refused, "\(policyText) it takes nothing any more when it is full: set maxmemory-policy allkeys-lfu")
    case .purges, .pictures: return nil
    }
  }

  private func shown(_ text: Substring) -> String { printable(String(text), longest: 40) }
}

/// The server's clock, which all hosts of a fleet share, as this machine estimates it, in milliseconds since 1970.
struct ServerClock {
  /// The years until 2255: sums of such numbers do not overflow.
  static let times: ClosedRange<Int64> = 0...(9_000_000_000_000)

  private var told: Int64 = 0
  private var at = Instant(nanoseconds: 0)

  /// Takes the answer to `TIME`; false for anything else.
  mutating func set(_ reply: RedisReply, at now: Instant) -> Bool {
    guard let parts = reply.list, parts.count == 2, let seconds = Self.number(parts[0]),
      let micros = Self.number(parts[1]), Self.times ~= seconds &* 1000, micros < 1_000_000
    else { return false }
    told = seconds * 1000 + micros / 1000
    at = now
    return true
  }

  func time(at now: Instant) -> Int64 {
    min(max(told + (now - at).milliseconds, Self.times.lowerBound), Self.times.upperBound)
  }

  func age(of time: Int64, at now: Instant) -> Duration { .milliseconds(max(self.time(at: now) - time, 0)) }

  private static func number(_ reply: RedisReply) -> Int64? {
    guard let number = reply.text.flatMap({ Int64($0) }), times ~= number else { return nil }
    return number
  }
}
