// One server: it is found, connected to, checked, used, left alone, and tried again.
//
// An attempt has three steps: find address and password, connect, check whether the server may be used. Who owns the
// link has the last word: only when it calls `enter` may the server be used. When the connection or anything that
// stands on it ends, all of it does, and the breaker says when to try again.

internal import ImgdCache
internal import ImgdSystem

final class ServerLink {
  /// What a server is for.
  enum Duty { case purges, pictures }

  /// The time allowed for everything from the name to the end of the check.
  private static let patience: Duration = .seconds(2)
  private static let timeBetweenChecks: Duration = .seconds(60)
  /// A read-only server is checked more often: it may become writable again.
  private static let timeBetweenTrials: Duration = .seconds(2)
  /// A master that stood still believes for many seconds that it is still the one.
  private static let timeBetweenSearches: Duration = .seconds(2)
  /// All replies but pictures are shorter.
  private static let mostReplyBytes = 1 << 20

  unowned let loop: EventLoop
  let server: FleetSettings.Server
  let connect: Connect
  let keys: FleetKeys
  private let duty: Duty
  private let finder: ServerFinder
  private var maxObject: Int
  private(set) var state = FleetState(.connecting)
  private(set) var access: ServerAccess?
  private var breaker: Breaker
  private var connection: (any ServerConnection)?
  private var timer: Timer?
  private var nextSearch: Timer?
  private var readOnly: FleetTrouble?
  /// Where a Sentinel has found the master.
  private var master: ServerPlace?
  /// Called after each check that has found nothing wrong.
  var onCheck: (ServerFacts) -> Void = { _ in }
  /// Called after that of a new connection.
  var onAcceptance: (ServerAccess, ServerFacts) -> Void = { _, _ in }
  var onState: (FleetState) -> Void = { _ in }
  /// Called when the server can no longer be used: nothing that is under way will be answered.
  var onLeave: () -> Void = {}

  init(
    to server: FleetSettings.Server, for duty: Duty, _ settings: FleetSettings, on loop: EventLoop,
    connect: @escaping Connect
  ) {
    self.loop = loop
    self.server = server
    self.duty = duty
    self.connect = connect
    keys = FleetKeys(namespace: settings.namespace)
    maxObject = settings.maxObject
    finder = ServerFinder(server, settings, on: loop, connect: connect)
    breaker = Breaker(isOfSentinel: server.isFoundBySentinel)
  }

  var isReadable: Bool { state.isReadable }
  var isWritable: Bool { state.phase == .ok }

  func apply(maxObject: Int) {
    self.maxObject = maxObject
    connection?.limits = limits
  }

  /// Two of the largest pictures may wait to be sent, however large they are.
  private var limits: RedisConnection.Limits {
    let most = FleetValue.mostBytes(picture: maxObject)
    return RedisConnection.Limits(reply: Self.mostReplyBytes + most, output: max(8 << 20, 2 * most))
  }

  // MARK: Commands

  func send(_ command: RedisCommand, arriving: (() -> Void)? = nil, then: @escaping (RedisReply) -> Void) {
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
    guard isReadable, breaker.failed() else { return }
    leave(FleetTrouble(.down, "three answers in a row took longer than Fleet.Timeout"))
  }

  /// Takes note of an error that may be about more than its command.
  func said(_ failure: String) {
    guard isReadable, let trouble = FleetTrouble(serverSaid: failure) else { return }
    guard trouble.phase == .readOnly, !isAtWrongServer(trouble) else { return leave(trouble) }
    readOnly = trouble
    enter()
  }

  // MARK: An attempt

  func attempt() {
    master = nil
    limit(to: Self.patience + finder.patience)
    finder.find { [unowned self] in found($0) }
  }

  private func found(_ found: Result<ServerAccess, FleetTrouble>) {
    do throws(FleetTrouble) {
      let access = try found.get()
      if server.isFoundBySentinel { master = access.place }
      let connection = try connect(access.place, loop, limits)
      connection.onEnd = { [unowned self] trouble in leave(trouble) }
      self.connection = connection
      self.access = access
      limit(to: Self.patience)
      check(login: access.login)
    } catch { leave(error) }
  }

  private func limit(to time: Duration) {
    timer?.cancel()
    timer = loop.schedule(after: time) { [unowned self] in
      leave(FleetTrouble(.down, "there was no answer for two seconds"))
    }
  }

  private func check(login: RedisCommand? = nil) {
    guard let connection else { return }
    if isReadable { limit(to: Self.patience) }
    ServerCheck(on: connection, for: duty, login: login, keys: keys, loop: loop) {
      [unowned self, weak connection] outcome in
      // The end of a connection is reported separately, with its reason.
      guard connection === self.connection, connection?.isOpen == true else { return }
      switch outcome {
      case .success(let facts): accept(facts)
      case .failure(let trouble): leave(trouble)
      }
    }
  }

  private func accept(_ facts: ServerFacts) {
    if let trouble = facts.readOnly, isAtWrongServer(trouble) { return leave(trouble) }
    readOnly = facts.readOnly
    onCheck(facts)
    timer?.cancel()
    if isReadable { return enter() }
    if let access { onAcceptance(access, facts) }
  }

  /// Whether a Sentinel knows a better one.
  private func isAtWrongServer(_ trouble: FleetTrouble) -> Bool { server.isFoundBySentinel && trouble == .replica }

  /// The server may be used from now on, or in another way.
  func enter() {
    if !isReadable { breaker.close(at: loop.now) }
    change(to: readOnly.map(state(of:)) ?? FleetState(.ok))
    timer?.cancel()
    let pause = readOnly == nil ? Self.timeBetweenChecks : Self.timeBetweenTrials
    timer = loop.schedule(after: pause) { [unowned self] in check() }
    if server.isFoundBySentinel, nextSearch == nil { searchLater() }
  }

  /// Asks from time to time whether there is another master by now, which hosts that connect anew are sent to.
  private func searchLater() {
    nextSearch = loop.schedule(after: Self.timeBetweenSearches) { [unowned self] in
      finder.findAgain { [unowned self] in leave(FleetTrouble(.down, "a Sentinel names another master")) }
      searchLater()
    }
  }

  // MARK: The end

  /// The connection is as it should be, and yet the server cannot be used for now.
  func suspend(_ reason: String) {
    timer?.cancel()
    change(to: FleetState(.connecting, reason))
    onLeave()
  }

  func leave(_ trouble: FleetTrouble) {
    // A host that has left the log of purges must not take a read-only server for readable and use it.
    let phase: FleetState.Phase =
      if isAtWrongServer(trouble) { .down } else if trouble.phase == .readOnly { .refused } else { trouble.phase }
    let state = state(of: FleetTrouble(phase, trouble.reason))
    stop()
    change(to: state)
    onLeave()
    timer = loop.schedule(after: breaker.open(at: loop.now)) { [unowned self] in attempt() }
  }

  func stop() {
    timer?.cancel()
    nextSearch.take()?.cancel()
    finder.giveUp()
    access = nil
    let connection = self.connection.take()
    connection?.close()
  }

  private func state(of trouble: FleetTrouble) -> FleetState {
    let what = duty == .purges ? "the fleet's server" : "the fleet's server for pictures"
    let place = master.map { " (its master is at \($0))" } ?? ""
    return FleetState(trouble.phase, "\(what) \(server)\(place): \(trouble.reason)")
  }

  private func change(to state: FleetState) {
    guard state != self.state else { return }
    self.state = state
    onState(state)
  }
}

extension FleetSettings.Server {
  var isFoundBySentinel: Bool { if case .sentinel = self { true } else { false } }
}

/// Decides when the server is left alone, and for how long. After three failures in a row it is taken for dead. It is
/// tried again after half a second, and then less and less often until a connection lasts.
struct Breaker {
  private static let mostFailures = 3
  private static let firstPause: Duration = .milliseconds(500)
  /// A connection that has lasted this long counts as healthy.
  private static let trial: Duration = .seconds(10)

  /// A Sentinel has another master soon, so it is asked every two seconds at least.
  private let longestPause: Duration
  private var failures = 0
  private var pause = Self.firstPause
  private var closedAt: Instant?

  init(isOfSentinel: Bool = false) { longestPause = isOfSentinel ? .milliseconds(1_600) : .seconds(30) }

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
    defer { pause = min(pause * 2, longestPause) }
    return pause * jitter
  }
}

/// Why the server cannot be used, or not in full, and what would be right.
struct FleetTrouble: Error, Equatable {
  static let replica = FleetTrouble(.readOnly, "it is a replica: name its master")

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
    case "UNBLOCKED": self.init(.down, "it has become a replica")
    case "CLUSTERDOWN", "MOVED", "ASK", "CROSSSLOT":
      self.init(.refused, "it is part of a cluster; a server that has all keys is needed")
    case "NOAUTH": self.init(.refused, "it asks for a password: set Fleet.PasswordFile=")
    case "WRONGPASS": self.init(.refused, "user or password are wrong: see Fleet.User= and Fleet.PasswordFile=")
    case "NOPERM": self.init(.refused, "the user has too few rights (\(text)): see docs/fleet.md")
    case "DENIED": self.init(.refused, "it is in protected mode: set a password, or bind it to this machine")
    case "READONLY": self = .replica
    case "MISCONF": self.init(.readOnly, "it cannot save its data and takes no more: see its log, or set save \"\"")
    default: return nil
    }
  }
}
