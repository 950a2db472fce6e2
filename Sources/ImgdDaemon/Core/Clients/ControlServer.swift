import Glibc
import ImgdSystem
import ImgdWire

/// Takes clients in, and knows them all.
final class ControlServer {
  /// Clients taken in before others get their turn.
  private static let acceptedPerTick = 64
  /// Beyond the limit, for root: who looks after the machine is not shut out by its users.
  private static let placesForRoot = 8

  let scratch = ReadScratch()
  let commands: Commands
  private let loop: EventLoop
  private let listener: UnixListener
  private var watch: Watch?
  private var sessions: [UInt64: ClientSession] = [:]
  private var lastNumber: UInt64 = 0
  private(set) var counts = Statistics.Clients()
  var limits: WireLimits {
    didSet { for session in sessions.values { session.limits = limits } }
  }

  init(
    listener: UnixListener, commands: Commands, limits: WireLimits, loop: EventLoop
  ) throws(SystemFailure) {
    self.listener = listener
    self.commands = commands
    self.limits = limits
    self.loop = loop
    watch = try loop.watch(listener.number, for: .read) { [unowned self] _ in acceptClients() }
    watch?.interest = []
  }

  /// Takes clients in from now on; those who have connected before wait in the socket.
  func open() {
    watch?.interest = .read
  }

  var connected: Int { sessions.count }
  /// Whether any client has not got, or not taken, all of its answers.
  var owesAnswers: Bool { sessions.values.contains { $0.isOwed } }

  // MARK: Accepting

  private func acceptClients() {
    for _ in 0..<Self.acceptedPerTick {
      switch listener.accept() {
      case .client(let socket): takeIn(socket)
      case .beyondDescriptors(let socket):
        turnAway(socket, .tooManyClients(limit: sessions.count, of: "descriptors"))
        listener.restoreReserve()
      case .nobody: return
      case .exhausted: return rest()
      }
    }
  }

  private func takeIn(_ socket: consuming StreamSocket) {
    guard sessions.count < limits.connections || hasPlaceForRoot(socket) else {
      return turnAway(socket, .tooManyClients(limit: limits.connections, of: "connections"))
    }
    lastNumber += 1
    do throws(SystemFailure) {
      let session = try ClientSession(
        socket, number: lastNumber, server: self, loop: loop, limits: limits)
      sessions[session.number] = session
      counts.accepted += 1
    } catch {
      counts.rejected += 1
    }
  }

  /// Not where root runs the daemon, whose clients may all be root's.
  private func hasPlaceForRoot(_ socket: borrowing StreamSocket) -> Bool {
    guard geteuid() != 0, sessions.count < limits.connections + Self.placesForRoot else {
      return false
    }
    return (try? PeerCredentials(of: socket))?.uid == 0
  }

  private func turnAway(_ socket: consuming StreamSocket, _ error: WireError) {
    counts.rejected += 1
    socket.turnAway(error, reading: scratch)
  }

  /// The kernel is short of memory: asking again at once would only turn the loop.
  private func rest() {
    watch?.interest = []
    loop.schedule(after: .milliseconds(100)) { [weak self] in self?.watch?.interest = .read }
  }

  // MARK: Ending

  /// Answers every command that stands by.
  func refuseStanding(_ error: WireError) {
    for session in sessions.values { session.refuseStanding(error) }
  }

  func closed(_ session: ClientSession) {
    sessions[session.number] = nil
    commands.forget(session)
  }

  func closedSlowClient(_ session: ClientSession) {
    counts.slowClosed += 1
    Log.notice(
      .client,
      "closed the connection of uid \(session.peer.uid), pid \(session.peer.pid): "
        + "it took nothing for \(limits.stallSeconds) s",
      .uid(session.peer.uid), .pid(session.peer.pid))
  }

  func countCommand() { counts.commands += 1 }
  func countError() { counts.errors += 1 }

  /// Takes nobody in any more; those who are here stay.
  func stopListening() {
    watch?.cancel()
    listener.close()
  }

  func closeAll() {
    for session in sessions.values {
      session.flush()
      session.close()
    }
  }
}
