internal import ImgdCache
internal import ImgdSystem

/// A server that has pictures, with all that is under way there: `Fleet.Server` itself, or one of `Fleet.Pictures`.
/// It is of use only while the log of purges is read as well.
final class PictureServer {
  let link: ServerLink
  private unowned let fleet: FleetServer
  private(set) lazy var claims = Claims(self)
  private(set) lazy var looks = Looks(self, claims)
  private(set) lazy var stores = Stores(self, claims)
  /// Called when a look is over, unless it has brought a claim.
  var onEnd: (UInt64) -> Void = { _ in }

  init(_ link: ServerLink, of fleet: FleetServer) {
    self.link = link
    self.fleet = fleet
  }

  // MARK: What all servers share

  var loop: EventLoop { fleet.loop }
  var settings: FleetSettings { fleet.settings }
  var host: String { fleet.host }
  /// Times and marks in values are those of the fleet, whichever server has them.
  var clock: ServerClock { fleet.clock }
  var generation: UInt64 { fleet.generation }

  var bytesInLine: Int {
    get { fleet.bytesInLine }
    set { fleet.bytesInLine = newValue }
  }

  func report(_ event: FleetEvent) {
    if case .looked(let serial, let answer) = event {
      switch answer {
      case .held, .claimed, .arriving: break
      case .nothing, .found, .foundForOthers, .failed: onEnd(serial)
      }
    }
    fleet.report(event)
  }

  /// Ends what is under way: it will not be answered.
  func failAll() {
    looks.failAll()
    stores.leave()
  }

  // MARK: What is its own

  var keys: FleetKeys { link.keys }
  var access: ServerAccess? { link.access }
  var connect: Connect { link.connect }
  var state: FleetState { fleet.link.isReadable ? link.state : fleet.state }
  var isReadable: Bool { fleet.link.isReadable && link.isReadable }
  var isWritable: Bool { fleet.isWritable && link.isWritable }
  /// Whether it alone is of no use: then there is nothing for its share of the pictures.
  var isAway: Bool { fleet.link.isReadable && !link.isReadable }

  func send(_ command: RedisCommand, arriving: (() -> Void)? = nil, then: @escaping (RedisReply) -> Void) {
    link.send(command, arriving: arriving, then: then)
  }
  func order(_ command: RedisCommand) { link.order(command) }
  func hasRoom(for bytes: Int) -> Bool { link.hasRoom(for: bytes) }
  func answered() { link.answered() }
  func wasLate() { link.wasLate() }
  func said(_ failure: String) { link.said(failure) }
  func leave(_ trouble: FleetTrouble) { link.leave(trouble) }
}
