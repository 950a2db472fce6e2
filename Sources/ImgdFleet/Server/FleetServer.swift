// The server of `Fleet.Server` as the rest of the engine's thread sees it: the log of purges, the life of the data that
// marks belong to, and the clock that all hosts go by. The fleet can be used only while the log is read: a host that
// does not hear of purges must not read pictures, wherever they are.

internal import ImgdCache
internal import ImgdSystem

final class FleetServer {
  let link: ServerLink
  /// A random name for this host, in claims and purges.
  let host: String
  /// How long a look-up may take, and the largest picture; all else stays as it was at the start.
  private(set) var settings: FleetSettings
  private(set) var generation: UInt64 = 0
  private(set) var clock = ServerClock()
  private var secondsAhead: Int64 = 0
  /// The size of the pictures that wait to be sent, to whichever server.
  var bytesInLine = 0
  let report: (FleetEvent) -> Void
  private lazy var log = PurgeLog(self)
  /// The limit of its memory as it was reported; nil before.
  private var mostMemory: Int?
  /// Called when the fleet can no longer be used, after the link's own part in it.
  var onLeave: () -> Void = {}

  init(loop: EventLoop, settings: FleetSettings, connect: @escaping Connect, report: @escaping (FleetEvent) -> Void) {
    self.settings = settings
    self.report = report
    link = ServerLink(to: settings.server, for: .purges, settings, on: loop, connect: connect)
    host = String(UInt64.random(in: .min ... .max), radix: 16)
    link.onState = { state in report(.state(state)) }
    link.onCheck = { [unowned self] facts in
      clock = facts.clock
      reportMemory(limit: facts.mostMemory)
    }
    link.onAcceptance = { [unowned self] access, facts in
      generation = facts.generation
      log.begin(access)
    }
    link.onLeave = { [unowned self] in
      // While the log is read again, its connection stays.
      if link.access == nil {
        log.disconnect()
        generation = 0
      }
      onLeave()
    }
  }

  var loop: EventLoop { link.loop }
  var keys: FleetKeys { link.keys }
  var state: FleetState { link.state }
  var isWritable: Bool { link.isWritable }
  var now: Int64 { clock.time(at: loop.moment) }

  /// Reads the log of purges from now on; it has to have what was heard before.
  func join(from position: FleetPosition?) {
    log.join(from: position)
    if let access = link.access, generation != 0 { log.begin(access) }
  }

  func apply(maxObject: Int, timeout: Duration) {
    (settings.maxObject, settings.timeout) = (maxObject, timeout)
    link.apply(maxObject: maxObject)
  }

  func stop() {
    log.disconnect()
    link.stop()
  }

  // MARK: The log

  /// The log is about to tell of a life of the server's data.
  func joined(_ generation: UInt64) {
    if link.isReadable { link.suspend("the log of purges is read again") }
    self.generation = generation
  }

  /// Ignores a change of one second: clocks that are read in whole seconds differ by one now and then.
  func note(_ clock: ServerClock) {
    self.clock = clock
    let ahead = clock.time(at: loop.now) / 1_000 - WallClock.seconds
    guard abs(ahead - secondsAhead) > 1 else { return }
    secondsAhead = ahead
    report(.clock(secondsAhead: ahead))
  }

  private func reportMemory(limit: Int?) {
    guard let limit, limit != mostMemory else { return }
    mostMemory = limit
    report(.memory(limit: limit))
  }
}
