import ImgdSystem
import ImgdTestSupport

@testable import ImgdFleet

/// A server that is a plan: it answers a command as the test says, and where the test says nothing, like one that is
/// in order and empty. It has a log of purges, and no pictures: what a look finds is said.
///
/// What a test has it do happens at once, in a tick of the loop.
final class PlannedServer {
  private let loop: EventLoop
  private let start: Instant
  private let startedAt = WallClock.seconds
  private var answers: [String: RedisReply] = [:]
  private var single: [String: [RedisReply]] = [:]
  private var silent: Set<String> = []
  private var isFrozen = false
  /// All connections so far.
  private(set) var connections: [PlannedConnection] = []
  /// All commands so far, on whichever connection they came.
  private(set) var heard: [PlannedCommand] = []
  /// The life of its data.
  var generation: UInt64 = 5
  /// What it tells of itself, by its sections.
  var facts = [
    "server": ["redis_version": "7.0.15"], "memory": ["maxmemory_policy": "volatile-lfu"],
    "replication": ["role": "master"],
  ]
  /// How many bytes a command may have now; nil where the engine's own limit is the only one.
  var room: Int?
  /// Why it takes no connections.
  var refusal: FleetTrouble?
  /// How often a connection was wanted.
  private(set) var attempts = 0
  private(set) var log = PlannedLog()

  init(on loop: EventLoop) {
    self.loop = loop
    start = loop.now
  }

  func connect(
    _ place: ServerPlace, _ limits: RedisConnection.Limits
  ) throws(FleetTrouble) -> any ServerConnection {
    attempts += 1
    if let refusal { throw refusal }
    let connection = PlannedConnection(to: place, limits: limits, of: self, on: loop)
    connections.append(connection)
    return connection
  }

  func note(_ command: PlannedCommand) { heard.append(command) }

  // MARK: The plan

  /// Gives this answer to all commands of a name, from now on.
  func plan(_ name: String, _ answer: RedisReply) {
    answers[name] = answer
    silent.remove(name)
    goOn()
  }

  /// Gives these answers to the next commands of a name, one each.
  func planOnce(_ name: String, _ replies: RedisReply...) {
    single[name, default: []] += replies
    silent.remove(name)
    goOn()
  }

  /// Answers no command of a name, and none behind it.
  func keepSilent(_ name: String) { silent.insert(name) }

  /// Answers nothing.
  func freeze() { isFrozen = true }

  /// Goes on as if nothing had been.
  func thaw() {
    isFrozen = false
    silent = []
    goOn()
  }

  /// Answers the command of a name that is next on its connection, in the next tick, which is the caller's to turn.
  func deliver(_ reply: RedisReply, to name: String) throws {
    guard let connection = open.first(where: { $0.next == name }) else {
      throw TestFailure("nobody waits for \(name), but for \(open.map { $0.next ?? "nothing" })")
    }
    loop.nextTick {
      connection.answer(reply)
      connection.goOn()
    }
  }

  /// Brings a part of the answer to the command of a name that is next on its connection.
  func bringPart(to name: String) throws {
    guard let connection = open.first(where: { $0.next == name }) else {
      throw TestFailure("nobody waits for \(name), but for \(open.map { $0.next ?? "nothing" })")
    }
    loop.nextTick { connection.bringPart() }
    loop.settle()
  }

  /// The same, at once.
  func answer(_ reply: RedisReply, to name: String) throws {
    try deliver(reply, to: name)
    loop.settle()
  }

  // MARK: What happens to it

  func change(_ change: (inout PlannedLog) -> Void) {
    change(&log)
    goOn()
  }

  /// Loses all data, and gets another life.
  func empty() {
    log = PlannedLog()
    generation += 1
    goOn()
  }

  func publish(_ text: String, in channel: String) {
    loop.nextTick { [self] in
      for connection in connections { connection.hear(text, in: channel) }
    }
    loop.settle()
  }

  /// Sends a message of any form to who waits for wake-ups.
  func publish(_ message: RedisReply) {
    loop.nextTick { [self] in wakeUps?.onMessage?(message) }
    loop.settle()
  }

  func end(_ connection: PlannedConnection?, _ reason: String = "Connection reset by peer") throws {
    guard let connection else { throw TestFailure("there is no such connection") }
    loop.nextTick { connection.end(reason) }
    loop.settle()
  }

  private func goOn() {
    loop.nextTick { [self] in
      for connection in connections { connection.goOn() }
    }
    loop.settle()
  }

  // MARK: What it sees

  /// The commands of a name that have come so far.
  func commands(_ name: String) -> [PlannedCommand] { heard.filter { $0.name == name } }

  var open: [PlannedConnection] { connections.filter(\.isOpen) }
  /// The connection of checks, look-ups and stores.
  var pictures: PlannedConnection? { open.last { $0.names.contains("INFO") } }
  var purges: PlannedConnection? { open.last { $0.names.contains("XREVRANGE") } }
  var wakeUps: PlannedConnection? { open.last { $0.names.contains("SUBSCRIBE") } }

  // MARK: Its answers

  /// Nil for none now.
  func reply(to command: PlannedCommand) -> RedisReply? {
    let name = command.name
    guard !isFrozen, !silent.contains(name) else { return nil }
    if let next = single[name]?.first {
      single[name]?.removeFirst()
      return next
    }
    return answers[name] ?? ownReply(to: command, name)
  }

  private func ownReply(to command: PlannedCommand, _ name: String) -> RedisReply? {
    let words = command.texts
    switch name {
    case "INFO": return .text(facts[words[1]]?.map { "\($0.key):\($0.value)\r\n" }.joined() ?? "")
    case "TIME":
      let passed = (loop.now - start).milliseconds
      return .list([.text("\(startedAt + passed / 1_000)"), .text("\(passed % 1_000 * 1_000)")])
    case "GET generation": return .text("\(generation)")
    case "SET", "SET generation", "AUTH": return .word("OK")
    case "GETRANGE": return .bytes([])
    case "XREVRANGE": return log.newest
    case "XRANGE heard": return log.range(words[2], words[3])
    case "XRANGE page": return log.range(words[2], words[3], atMost: Int(words[5]) ?? 0)
    case "XREAD":
      let found = log.range("(" + words[7], "+", atMost: Int(words[4]) ?? 0)
      return found == .list([]) ? nil : .list([.list([.text(words[6]), found])])
    case "startAnew":
      generation = UInt64(command.arguments[1]) ?? 0
      return .number(1)
    default: return .number(1)
    }
  }

  /// How many milliseconds a command may wait for its answer in the server; nil for one that has to be answered.
  func blocking(_ command: PlannedCommand) -> Int? {
    guard !isFrozen, command.name == "XREAD", !silent.contains("XREAD") else { return nil }
    return Int(command.texts[2])
  }
}
