internal import ImgdCache
internal import ImgdSystem

/// Hears when the pictures that this host waits for have arrived, on a connection that is open while it waits
/// for any. It only shortens the wait: hosts that wait also look on their own.
final class WakeUps {
  private static let mostReplyBytes = 64 * 1024

  private unowned let server: PictureServer
  private let side: SideConnection
  private var waiting: [String: (digest: KeyDigest, count: Int)] = [:]
  /// Called for each wake-up; false means that there will be no picture.
  var onWake: (KeyDigest, Bool) -> Void = { _, _ in }

  init(_ server: PictureServer) {
    self.server = server
    side = SideConnection(to: server)
    side.onOpen = { [unowned self] connection in
      connection.onMessage = { [unowned self] message in hear(message) }
      for channel in waiting.keys { connection.sendForMessages(RedisCommand("SUBSCRIBE", channel)) }
    }
  }

  func add(_ digest: KeyDigest) {
    let channel = server.keys.wake(digest)
    waiting[channel, default: (digest, 0)].count += 1
    let hadConnection = side.isOpen
    let connection = side.use(RedisConnection.Limits(reply: Self.mostReplyBytes))
    if hadConnection, waiting[channel]?.count == 1 { connection?.sendForMessages(RedisCommand("SUBSCRIBE", channel)) }
  }

  func remove(_ digest: KeyDigest) {
    let channel = server.keys.wake(digest)
    guard let count = waiting[channel]?.count else { return }
    guard count == 1 else { return waiting[channel] = (digest, count - 1) }
    waiting[channel] = nil
    side.current?.sendForMessages(RedisCommand("UNSUBSCRIBE", channel))
    if waiting.isEmpty { side.closeSoon() }
  }

  func close() { side.close() }

  /// Passes wake-ups on. Confirmations of subscriptions are messages of another kind, refusals are errors.
  private func hear(_ message: RedisReply) {
    guard let parts = message.list, parts.count == 3, parts[0].text == "message", let channel = parts[1].text,
      let waiting = waiting[channel]
    else { return }
    onWake(waiting.digest, parts[2].text != "0")
  }
}
