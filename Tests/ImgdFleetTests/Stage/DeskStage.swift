import Glibc
import ImgdCache
import ImgdSystem
import ImgdTestSupport

@testable import ImgdFleet

/// The servers of a stage before anything is asked of them.
struct DeskPlan {
  let server: PlannedServer
  let others: [String: PlannedServer]
}

/// One host of a fleet on the thread of its test, with a clock that the test turns; the server is a plan, or a real
/// one.
///
/// With a plan nothing happens while the test does not look, and an event that is not there then has failed to come.
/// A real server is waited for, and no time passes meanwhile: whatever it takes, nothing is late.
final class DeskStage: FleetHost {
  /// Shorter than any pause of the engine, so that each timer fires when it should.
  private static let step = Duration.milliseconds(25)

  /// Where a planned server is, and all else as it is by default.
  static let settings = FleetSettings(server: .unix(path: "/planned"))

  let desk: FleetDesk
  private let clock: LoopClock
  private let loop: EventLoop
  private let plan: PlannedServer?
  /// Further planned servers, by their addresses.
  private let others: [String: PlannedServer]
  private let events: Shared<[FleetEvent]>
  private var lastSerial: UInt64 = 0

  /// With a planned server, and others at their addresses, which `plan` may change before anything is asked of them.
  init(
    join position: FleetPosition?? = .some(nil), with settings: FleetSettings = settings,
    others: [String], plan: (DeskPlan) -> Void
  ) throws {
    let (clock, loop) = try Self.time()
    let server = PlannedServer(on: loop)
    let others = Dictionary(uniqueKeysWithValues: others.map { ($0, PlannedServer(on: loop)) })
    plan(DeskPlan(server: server, others: others))
    let events = Shared<[FleetEvent]>([])
    (self.clock, self.loop, self.plan, self.events) = (clock, loop, server, events)
    self.others = others
    desk = FleetDesk(
      loop: loop, settings: settings,
      connect: { place, _, limits throws(FleetTrouble) in
        try (others[place.description] ?? server).connect(place, limits)
      },
      report: { event in events.with { $0.append(event) } })
    if let position { desk.receive(.join(position)) }
    settle()
  }

  /// With one planned server, which `plan` may change before anything is asked of it.
  convenience init(
    join position: FleetPosition?? = .some(nil), with settings: FleetSettings = settings,
    plan: (PlannedServer) -> Void = { _ in }
  ) throws {
    try self.init(join: position, with: settings, others: []) { plan($0.server) }
  }

  /// With a real server.
  init(
    _ server: FleetSettings.Server, join position: FleetPosition? = nil,
    _ change: (inout FleetSettings) -> Void = { _ in }
  ) throws {
    // The kernel writes to connections that may have ended.
    SignalWatch.block([SIGPIPE])
    (clock, loop) = try Self.time()
    plan = nil
    others = [:]
    var settings = FleetSettings(server: server)
    change(&settings)
    let events = Shared<[FleetEvent]>([])
    self.events = events
    desk = FleetDesk(loop: loop, settings: settings) { event in events.with { $0.append(event) } }
    desk.receive(.join(position))
  }

  /// A host that can use a real server.
  convenience init(on server: RedisServer, join position: FleetPosition? = nil) throws {
    try self.init(.unix(path: server.socket), join: position)
    try waitForState(.ok)
  }

  deinit {
    desk.receive(.stop)
    loop.settle()
    loop.close()
  }

  private static func time() throws -> (LoopClock, EventLoop) {
    let clock = LoopClock.manual(at: Instant(nanoseconds: 1_000_000_000_000))
    return (clock, try EventLoop(clock: clock))
  }

  /// The server that is a plan.
  var server: PlannedServer {
    guard let plan else { preconditionFailure("this stage has a real server") }
    return plan
  }

  /// The one at an address of its own.
  func server(at address: String) throws -> PlannedServer {
    guard let server = others[address] else { throw TestFailure("no server is planned at \(address)") }
    return server
  }

  // MARK: Turning

  /// Turns until there is nothing left to do at this moment.
  func settle() { loop.settle() }

  /// Lets time pass bit by bit, with all that happens on the way.
  func pass(_ time: Duration) {
    var left = time
    while left > .zero {
      jump(min(left, Self.step))
      left -= Self.step
    }
  }

  /// Lets time pass at once.
  func jump(_ time: Duration) {
    loop.settle()
    clock.advance(by: time)
    loop.settle()
  }

  /// Lets time pass, and keeps the loop still: what has come meanwhile and what is due are met in one tick.
  func passUnseen(_ time: Duration) { clock.advance(by: time) }

  /// Turns until something holds, which a real server or another thread brings about.
  func turn(_ what: String, until holds: () throws -> Bool) throws {
    let deadline = Patience.end
    while try !holds() {
      guard Instant.current < deadline else { throw TestFailure("no \(what); there are \(all)") }
      loop.tick(waiting: true)
    }
  }

  // MARK: Events

  var all: [FleetEvent] { events.with { $0 } }

  func next<R>(_ what: String, _ pick: @escaping (FleetEvent) -> R?) throws -> R {
    var found: R?
    settle()
    if plan == nil {
      try turn(what) {
        found = take(pick)
        return found != nil
      }
    }
    guard let found = found ?? take(pick) else { throw TestFailure("no \(what); there are \(all)") }
    return found
  }

  private func take<R>(_ pick: (FleetEvent) -> R?) -> R? { events.with { pop(&$0, pick) } }

  /// The answers to a look that have come and were not taken, in a word each.
  func answers(to serial: UInt64) -> [String] {
    settle()
    return events.with { events in
      var answers: [String] = []
      while let answer = pop(&events, { $0.answer(to: serial) }) { answers.append(answer.word) }
      return answers
    }
  }

  // MARK: Orders

  func order(_ message: FleetMessage) {
    desk.receive(message)
    if plan != nil { settle() }
  }

  func nextSerial() -> UInt64 {
    lastSerial += 1
    return lastSerial
  }
}
