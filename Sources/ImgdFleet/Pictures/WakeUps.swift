internal import ImgdCache
internal import ImgdSystem

/// Hears when the pictures that this host waits for have arrived, on a connection that is open while it waits
/// for any. It only shortens the wait: hosts that wait also look on their own.
final class WakeUps {
  private static let mostReplyBytes = 64 * 1024
  /// How long an unused connection stays open, and how long a broken one is not replaced.
  private static let idle: Duration = .seconds(10)
  private static let pause: Duration = .seconds(1)

  private unowned let server: PictureServer
  private var connection: (any ServerConnection)?
  private var waiting: [String: (digest: KeyDigest, count: Int)] = [:]
  private var idleTimer: Timer?
  private var brokenAt: Instant?
  /// Called for each wake-up; false means that there will be no picture.
  var onWake: (KeyDigest, Bool) -> Void = { _, _ in }

  init(_ server: PictureServer) { self.server = server }

  func add(_ digest: KeyDigest) {
    idleTimer?.cancel()
    let channel = server.keys.wake(digest)
    waiting[channel, default: (digest, 0)].count += 1
    if connection == nil {
      connect()
    } else if waiting[channel]?.count == 1 {
      connection?.sendForMessages(RedisCommand("SUBSCRIBE", channel))
    }
  }

  func remove(_ digest: KeyDigest) {
    let channel = server.keys.wake(digest)
    guard let count = waiting[channel]?.count else { return }
    guard count == 1 else { return waiting[channel] = (digest, count - 1) }
    waiting[channel] = nil
    connection?.sendForMessages(RedisCommand("UNSUBSCRIBE", channel))
    guard waiting.isEmpty else { return }
    idleTimer = server.loop.schedule(after: Self.idle) { [unowned self] in close() }
  }

  func close() {
    idleTimer?.cancel()
    let connection = self.connection.take()
    connection?.close()
  }

  private func connect() {
    guard let access = server.access else { return }
    if let brokenAt, server.loop.now - brokenAt < Self.pause { return }
    do throws(FleetTrouble) {
      let connection = try server.connect(access.place, server.loop, RedisConnection.Limits(reply: Self.mostReplyBytes))
      connection.onEnd = { [unowned self] _ in broke() }
      connection.onMessage = { [unowned self] message in hear(message) }
      self.connection = connection
      if let login = access.login { connection.send(login) { _ in } }
      for channel in waiting.keys { connection.sendForMessages(RedisCommand("SUBSCRIBE", channel)) }
    } catch { broke() }
  }

  private func broke() {
    brokenAt = server.loop.now
    connection = nil
  }

  /// Passes wake-ups on. Confirmations of subscriptions are messages of another kind, refusals are errors.
  private func hear(_ message: RedisReply) {
    guard let parts = message.list, parts.count == 3, parts[0].text == "message", let channel = parts[1].text,
      let waiting = waiting[channel]
    else { return }
    onWake(waiting.digest, parts[2].text != "0")
  }
}
