import ImgdProgram
import ImgdSystem
import ImgdWire

/// Every client that is connected.
final class Clients {
  let scratch = ReadScratch()
  let ahead = LinesAhead()
  let turns: Turns
  let desk: ReplyDesk
  let shapes = LineShapes()
  private let loop: EventLoop
  private let access: Access
  private var sessions = Roll<ClientSession>()
  private var places: ClientPlaces
  private var former = FormerUse()
  let heap: FreedMemory
  private var lastNumber: UInt64 = 0
  private var whenFinished: (() -> Void)?
  private(set) var counts = Statistics.Clients()
  let known: any KnownLineAnswers
  let copies: HandedBytes
  /// Executes a line that was parsed; set once by the composition.
  var execute: (ParsedLine, ReplyPlace) -> Void = { _, _ in }
  /// Called when a connection has ended; set once by the composition.
  var onDeparture: (ReplyPlace) -> Void = { _ in }
  var limits: WireLimits {
    didSet {
      places.limit = limits.connections
      for session in sessions { session.limits = limits }
    }
  }

  init(
    limits: WireLimits, _ access: Access, known: any KnownLineAnswers, copies: HandedBytes, heap: FreedMemory,
    turns: Turns, desk: ReplyDesk, loop: EventLoop
  ) {
    self.known = known
    self.copies = copies
    self.limits = limits
    self.turns = turns
    self.desk = desk
    self.loop = loop
    self.access = access
    places = ClientPlaces(limit: limits.connections, access)
    self.heap = heap
  }

  var connected: Int { sessions.count }

  /// Some of the open connections in the order in which they came, and the number to go on after; nil at the end.
  func some(after number: UInt64, most: Int) -> (sessions: [ClientSession], end: UInt64?) {
    let part = sessions.part(after: number, most: most)
    return (part.members, part.end)
  }

  /// What each user has asked for over connections that have ended, as far as it is known.
  var formerUsers: [UInt32: UserUse] { former.users }

  /// The bytes in the buffers of all clients, and in the shapes of their lines.
  var heldBytes: Int { shapes.heldBytes + bufferedBytes }
  private var bufferedBytes = 0

  func countBuffered(_ change: Int) { bufferedBytes += change }

  // MARK: Arriving

  /// Takes a client in, or tells it that there is no place. Only a test names `peer`; otherwise the kernel is asked.
  func admit(_ socket: consuming StreamSocket, as peer: PeerCredentials? = nil) {
    lastNumber += 1
    do throws(SystemFailure) {
      let known = if let peer { peer } else { try PeerCredentials(of: socket) }
      guard access.mayConnect(known) else { return turnAway(socket, .notAllowed) }
      if let reached = places.reachedLimit(for: known.uid) {
        return turnAway(socket, .tooManyConnections(limit: reached.limit, of: reached.scope))
      }
      let session = try ClientSession(socket, as: known, number: lastNumber, of: self, loop: loop, limits: limits)
      sessions.add(session, numbered: session.number)
      places.occupy(for: known.uid)
      counts.accepted += 1
    } catch { counts.rejected += 1 }
  }

  /// Turns away a client that came when only the reserved descriptor was left.
  func refuseBeyondDescriptors(_ socket: consuming StreamSocket) {
    turnAway(socket, .noDescriptorLeft(connections: sessions.count))
  }

  private func turnAway(_ socket: consuming StreamSocket, _ error: WireError) {
    counts.rejected += 1
    socket.turnAway(error, reading: scratch)
  }

  /// Forgets the shapes of a user's lines, or of all lines, where a URL alone no longer says what is shown.
  func forgetShapes(of uid: UInt32? = nil) {
    for session in sessions where uid == nil || session.peer.uid == uid { session.forgetShapes() }
  }

  // MARK: Ending

  /// Refuses every command that stands by.
  func refuseStanding(_ error: WireError) { for session in sessions { session.place.refuseStanding(error) } }

  /// Ends all connections, each when the requests that have arrived on it are answered and the answers taken; calls
  /// back when none is left.
  func finish(_ finished: @escaping () -> Void) {
    whenFinished = finished
    for session in sessions { session.finish() }
    if sessions.isEmpty { finished() }
  }

  /// Ends all connections at once; answers are sent as far as that is possible without waiting.
  func finishNow() { for session in sessions { session.finishNow() } }

  func closed(_ session: ClientSession, freeing bytes: Int) {
    sessions.remove(session.number)
    heap.note(freed: ClientSession.ownBytes + bytes)
    former.add(session.use, of: session.peer.uid)
    places.giveBack(of: session.peer.uid)
    onDeparture(session.place)
    if sessions.isEmpty { whenFinished?() }
  }

  func closedSlowClient(_ session: ClientSession) {
    counts.slowClosed += 1
    Log.notice(
      .client,
      "closed the connection of uid \(session.peer.uid), pid \(session.peer.pid): "
        + "it took nothing for \(limits.stallSeconds) s", .code(.clientStalled),
      .uid(session.peer.uid), .pid(session.peer.pid))
  }
}

extension StreamSocket {
  /// Tells its client why it is not taken in, as far as an empty buffer takes that, and lets it go.
  consuming func turnAway(_ error: WireError, reading scratch: ReadScratch) {
    // To the client, requests that are left unread would look like a broken connection.
    endReceiving()
    _ = read(into: scratch)
    var writer = JSONWriter()
    ReplyEncoder.failure(id: .none, error: error, into: &writer)
    var outbox = Outbox()
    outbox.bytes = writer.bytes
    _ = outbox.send(to: self)
  }
}

/// What has been asked for over a connection, or over several.
struct ClientUse {
  var requests = 0
  var bytesSent = 0
}

/// What a user has asked for.
struct UserUse {
  /// Connections that are open.
  var connected = 0
  /// Connections, those that have ended among them.
  var accepted = 0
  var use = ClientUse()

  mutating func add(open connection: ClientUse) {
    connected += 1
    add(connection)
  }

  mutating func add(_ connection: ClientUse) {
    accepted += 1
    use.requests += connection.requests
    use.bytesSent += connection.bytesSent
  }
}

/// What users have asked for over connections that have ended. So many users are known; the one who has asked least
/// makes room.
struct FormerUse {
  private static let most = 64

  private(set) var users: [UInt32: UserUse] = [:]

  mutating func add(_ use: ClientUse, of uid: UInt32) {
    if users[uid] == nil, users.count >= Self.most,
      let least = users.min(by: { $0.value.use.requests < $1.value.use.requests })
    {
      users[least.key] = nil
    }
    users[uid, default: UserUse()].add(use)
  }
}

/// The places of connections, and how many of them each user has.
///
/// A user may have a share of them (`Access`), so that one cannot shut out the others. Root has a few more, so that
/// users who take all the others do not shut out the operator; but not where root runs the daemon, since all its
/// clients may be root's.
struct ClientPlaces {
  private static let placesForRoot = 8

  var limit: Int
  private let access: Access
  private(set) var count = 0
  private var users: [UInt32: Int] = [:]

  init(limit: Int, _ access: Access) {
    self.limit = limit
    self.access = access
  }

  /// The limit that one more connection of the user would exceed, and whose it is; nil if it may come.
  func reachedLimit(for uid: UInt32) -> (limit: Int, scope: LimitScope)? {
    let places = uid == 0 && access.owner != 0 ? limit + Self.placesForRoot : limit
    if count >= places { return (limit, .daemon) }
    let share = access.share(of: uid, in: places)
    return users[uid, default: 0] >= share ? (share, .user) : nil
  }

  mutating func occupy(for uid: UInt32) {
    count += 1
    users[uid, default: 0] += 1
  }

  mutating func giveBack(of uid: UInt32) {
    count -= 1
    users.countDown(uid)
  }
}
