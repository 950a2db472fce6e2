internal import ImgdSystem

/// Another connection to the server, which is open while there is something to do on it.
final class SideConnection {
  /// How long an unused connection stays open, and how long a broken one is not replaced.
  private static let idle: Duration = .seconds(10)
  private static let pause: Duration = .seconds(1)

  private unowned let server: PictureServer
  private(set) var current: (any ServerConnection)?
  private var idleTimer: Timer?
  private var brokenAt: Instant?
  /// Called for each new connection, behind its login.
  var onOpen: (any ServerConnection) -> Void = { _ in }

  init(to server: PictureServer) { self.server = server }

  var isOpen: Bool { current != nil }

  /// The connection, which is opened if there is none; nil where that is impossible now.
  func use(_ limits: RedisConnection.Limits) -> (any ServerConnection)? {
    idleTimer?.cancel()
    if current == nil { open(limits) }
    return current
  }

  /// Closes it unless it is used again.
  func closeSoon() {
    idleTimer?.cancel()
    guard isOpen else { return }
    idleTimer = server.loop.schedule(after: Self.idle) { [unowned self] in close() }
  }

  func close() {
    idleTimer?.cancel()
    let connection = current.take()
    connection?.close()
  }

  private func open(_ limits: RedisConnection.Limits) {
    guard let access = server.access else { return }
    if let brokenAt, server.loop.now - brokenAt < Self.pause { return }
    do throws(FleetTrouble) {
      let connection = try server.connect(access.place, server.loop, limits)
      connection.onEnd = { [unowned self] _ in broke() }
      current = connection
      if let login = access.login { connection.send(login) { _ in } }
      onOpen(connection)
    } catch { broke() }
  }

  private func broke() {
    brokenAt = server.loop.now
    current = nil
  }
}
