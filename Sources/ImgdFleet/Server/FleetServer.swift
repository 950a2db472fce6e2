// The server as the rest of the engine's thread sees it.
//
// An attempt has four steps: find address and password, connect, check whether the server may be used, join the
// log of purges. Only then can the fleet be used: a host that does not hear of purges must not read pictures.
// When any part of this ends, all of it does, and the breaker says when to try again.

internal import ImgdCache
internal import ImgdSystem

final class FleetServer {
  /// The time allowed for everything from the name to the answer about the generation.
  private static let patience: Duration = .seconds(2)
  private static let timeBetweenChecks: Duration = .seconds(60)
  /// A read-only server is checked more often: it may become writable again.
  private static let timeBetweenTrials: Duration = .seconds(2)
  /// All replies but pictures are shorter.
  private static let mostReplyBytes = 1 << 20

  unowned let loop: EventLoop
  /// A random name for this host, in claims and purges.
  let host: String
  private(set) var settings: FleetSettings
  private(set) var state = FleetState(.connecting)
  private(set) var generation: UInt64 = 0
  private(set) var clock = ServerClock()
  private var secondsAhead: Int64 = 0
  private(set) var access: ServerAccess?
  let connect: Connect
  let report: (FleetEvent) -> Void
  private lazy var log = PurgeLog(self)
  private var breaker = Breaker()
  private var connection: (any ServerConnection)?
  private var finder: WorkerThread<Void>?
  /// The attempts so far: an address that was found for an earlier one comes too late.
  private var attempts = 0
  private var timer: Timer?
  private var readOnly: FleetTrouble?
  /// The limit of its memory as it was reported; nil before.
  private var mostMemory: Int?
  /// Called when the fleet can no longer be used: nothing that is under way will be answered.
  var onLeave: () -> Void = {}

  init(loop: EventLoop, settings: FleetSettings, connect: @escaping Connect, report: @escaping (FleetEvent) -> Void) {
    self.loop = loop
    self.settings = settings
    self.connect = connect
    self.report = report
    host = String(UInt64.random(in: .min ... .max), radix: 16)
  }

  var keys: FleetKeys { FleetKeys(namespace: settings.namespace) }
  var now: Int64 { clock.time(at: loop.moment) }
  var isWritable: Bool { state.phase == .ok }

  // MARK: Orders

  /// Reads the log of purges after a position, from now on.
  func join(from position: FleetPosition?) {
    log.join(from: position)
    if let access, generation != 0 { log.begin(access) }
  }

  func apply(_ settings: FleetSettings) {
    var same = settings
    (same.maxObject, same.timeout) = (self.settings.maxObject, self.settings.timeout)
    guard same != self.settings else {
      self.settings = settings
      connection?.limits = limits
      return
    }
    // Everything under way has to end while its keys still have their old names.
    drop()
    onLeave()
    self.settings = settings
    tell(FleetState(.connecting))
    attempt()
  }

  /// Two of the largest pictures may wait to be sent, however large they are.
  private var limits: RedisConnection.Limits {
    let most = FleetValue.mostBytes(picture: settings.maxObject)
    return RedisConnection.Limits(reply: Self.mostReplyBytes + most, output: max(8 << 20, 2 * most))
  }

  func stop() {
    drop()
    finder = nil
  }

  // MARK: Commands

  func send(
    _ command: RedisCommand, arriving: (() -> Void)? = nil, then: @escaping (RedisReply) -> Void
  ) {
    guard let connection else { return loop.nextTick { then(.lost) } }
    connection.send(command, arriving: arriving, then: then)
  }

  /// Sends a command whose answer is of interest only if it is an error.
  func order(_ command: RedisCommand) {
    send(command) { [unowned self] reply in if case .failure(let text) = reply { said(text) } }
  }

  func hasRoom(for bytes: Int) -> Bool { connection?.hasRoom(for: bytes) ?? false }

  func answered() { breaker.answered() }

  func wasLate() {
    guard state.isReadable, breaker.failed() else { return }
    leave(FleetTrouble(.down, "three answers in a row took longer than Fleet.Timeout"))
  }

  /// Takes note of an error that may be about more than its command.
  func said(_ failure: String) {
    guard state.isReadable, let trouble = FleetTrouble(serverSaid: failure) else { return }
    guard trouble.phase == .readOnly else { return leave(trouble) }
    readOnly = trouble
    enter()
  }

  // MARK: An attempt

  func attempt() {
    timer?.cancel()
    guard finder == nil else { return tryLater(FleetTrouble(.down, "its name is still looked up")) }
    limit()
    attempts += 1
    let (settings, number) = (self.settings, attempts)
    guard !ServerAccess.isAtHand(settings) else { return found(ServerAccess.find(settings)) }
    do throws(SystemFailure) {
      finder = try WorkerThread(name: "imgd-fleet-find", on: loop) {}
      let find: @Sendable (()) -> Result<ServerAccess, FleetTrouble> = { _ in ServerAccess.find(settings) }
      finder?.submit(find) { [unowned self] access in
        finder = nil
        if number == attempts { found(access) }
      }
    } catch { leave(FleetTrouble(.down, error.description)) }
  }

  private func found(_ access: Result<ServerAccess, FleetTrouble>) {
    do throws(FleetTrouble) {
      let access = try access.get()
      let connection = try connect(access.place, loop, limits)
      connection.onEnd = { [unowned self] trouble in leave(trouble) }
      self.connection = connection
      self.access = access
      check(login: access.login)
    } catch { leave(error) }
  }

  private func limit() {
    timer = loop.schedule(after: Self.patience) { [unowned self] in
      leave(FleetTrouble(.down, "there was no answer for two seconds"))
    }
  }

  private func check(login: RedisCommand? = nil) {
    guard let connection else { return }
    if state.isReadable { limit() }
    ServerCheck(on: connection, login: login, keys: keys, loop: loop) { [unowned self, weak connection] outcome in
      // The end of a connection is reported separately, with its reason.
      guard connection === self.connection, connection?.isOpen == true else { return }
      switch outcome {
      case .success(let facts): accept(facts)
      case .failure(let trouble): leave(trouble)
      }
    }
  }

  private func accept(_ facts: ServerFacts) {
    clock = facts.clock
    readOnly = facts.readOnly
    note(mostMemory: facts.mostMemory)
    timer?.cancel()
    if state.isReadable { return enter() }
    generation = facts.generation
    if let access { log.begin(access) }
  }

  /// The log is about to tell of a life of the server's data.
  func joined(_ generation: UInt64) {
    guard state.isReadable else { return self.generation = generation }
    timer?.cancel()
    tell(FleetState(.connecting, "the log of purges is read again"))
    onLeave()
    self.generation = generation
  }

  /// All purges have been heard.
  func enter() {
    let isNew = !state.isReadable
    if isNew { breaker.close(at: loop.now) }
    tell(readOnly?.state(of: settings.server) ?? FleetState(.ok))
    timer?.cancel()
    let pause = readOnly == nil ? Self.timeBetweenChecks : Self.timeBetweenTrials
    timer = loop.schedule(after: pause) { [unowned self] in check() }
  }

  // MARK: The end

  func leave(_ trouble: FleetTrouble) {
    // A host that has left the log of purges must not take a read-only server for readable and use it.
    let trouble = trouble.phase == .readOnly ? FleetTrouble(.refused, trouble.reason) : trouble
    drop()
    tell(trouble.state(of: settings.server))
    onLeave()
    tryLater(trouble)
  }

  private func tryLater(_ trouble: FleetTrouble) {
    tell(trouble.state(of: settings.server))
    timer?.cancel()
    timer = loop.schedule(after: breaker.open(at: loop.now)) { [unowned self] in attempt() }
  }

  private func drop() {
    attempts += 1
    timer?.cancel()
    log.disconnect()
    access = nil
    generation = 0
    let connection = self.connection.take()
    connection?.close()
  }

  /// Ignores a change of one second: clocks that are read in whole seconds differ by one now and then.
  func note(_ clock: ServerClock) {
    self.clock = clock
    let ahead = clock.time(at: loop.now) / 1_000 - WallClock.seconds
    guard abs(ahead - secondsAhead) > 1 else { return }
    secondsAhead = ahead
    report(.clock(secondsAhead: ahead))
  }

  private func note(mostMemory limit: Int?) {
    guard let limit, limit != mostMemory else { return }
    mostMemory = limit
    report(.memory(limit: limit))
  }

  private func tell(_ state: FleetState) {
    guard state != self.state else { return }
    self.state = state
    report(.state(state))
  }
}

/// Decides when the server is left alone, and for how long. After three failures in a row it is taken for dead. It is
/// tried again after half a second, and then less and less often until a connection lasts.
struct Breaker {
  private static let mostFailures = 3
  private static let firstPause: Duration = .milliseconds(500)
  private static let longestPause: Duration = .seconds(30)
  /// A connection that has lasted this long counts as healthy.
  private static let trial: Duration = .seconds(10)

  private var failures = 0
  private var pause = Self.firstPause
  private var closedAt: Instant?

  /// Takes note of a failure; returns whether it is one too many.
  mutating func failed() -> Bool {
    failures += 1
    return failures >= Self.mostFailures
  }

  mutating func answered() { failures = 0 }

  mutating func close(at now: Instant) {
    failures = 0
    closedAt = now
  }

  /// Returns how long to leave the server alone. The jitter keeps hosts from all coming back at once.
  mutating func open(at now: Instant, jitter: Double = .random(in: 0.75...1.25)) -> Duration {
    failures = 0
    if let closedAt, now - closedAt >= Self.trial { pause = Self.firstPause }
    closedAt = nil
    defer { pause = min(pause * 2, Self.longestPause) }
    return pause * jitter
  }
}

/// Why the server cannot be used, or not in full, and what would be right.
struct FleetTrouble: Error, Equatable {
  let phase: FleetState.Phase
  let reason: String

  init(_ phase: FleetState.Phase, _ reason: String) {
    self.phase = phase
    self.reason = reason
  }

  /// Tells what an error of the server means for its use; nil if it is about the command alone.
  init?(serverSaid text: String) {
    let word = text.prefix { $0 != " " }
    switch word {
    case "LOADING": self.init(.down, "it is still reading its data")
    case "BUSY": self.init(.down, "a script of somebody else keeps it busy")
    case "MASTERDOWN": self.init(.down, "it is a replica without its master")
    case "CLUSTERDOWN", "MOVED", "ASK", "CROSSSLOT":
      self.init(.refused, "it is part of a cluster; a server that has all keys is needed")
    case "NOAUTH": self.init(.refused, "it asks for a password: set Fleet.PasswordFile=")
    case "WRONGPASS": self.init(.refused, "user or password are wrong: see Fleet.User= and Fleet.PasswordFile=")
    case "NOPERM": self.init(.refused, "the user has too few rights (\(text)): see docs/fleet.md")
    case "DENIED": self.init(.refused, "it is in protected mode: set a password, or bind it to this machine")
    case "READONLY": self.init(.readOnly, "it is a replica: name its master in Fleet.Server=")
    case "MISCONF": self.init(.readOnly, "it cannot save its data and takes no more: see its log, or set save \"\"")
    default: return nil
    }
  }

  func state(of server: FleetSettings.Server) -> FleetState {
    FleetState(phase, "the fleet's server \(server): \(reason)")
  }
}
