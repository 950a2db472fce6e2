internal import ImgdCache
internal import ImgdSystem

/// Pictures on their way to the server. They go one after the other, so that no look-up waits behind all of them; one of
/// many megabytes goes on a connection of its own.
final class Stores {
  /// The most bytes that a command takes besides the value.
  private static let commandBytes = 4_096
  /// While more than this is on its way, the next picture waits.
  private static let mostUnderWay = 1 << 20
  /// A larger one would keep looks waiting.
  private static let mostBesideLooks = 1 << 20
  private static let noConnection = "the connection has ended"
  /// Waiting pictures are held once, as they were downloaded: as much as is downloaded at once by default,
  /// whatever server they are for.
  private static let mostInLine = 32 << 20

  private struct Order {
    let store: FleetStore
    let claim: PictureClaim?
    let since: Instant

    var bytes: Int { store.payload.count }
    var isLarge: Bool { bytes > Stores.mostBesideLooks }
  }

  private struct Hindrance: Error { let outcome: FleetStoring }

  private unowned let server: PictureServer
  private let claims: Claims
  private let side: SideConnection
  private var line = Fifo<Order>()
  private var bytesUnderWay = 0
  /// Renews the claim of a large picture, which may take longer than its claim lasts.
  private var renewal: Timer?

  init(_ server: PictureServer, _ claims: Claims) {
    self.server = server
    self.claims = claims
    side = SideConnection(to: server)
  }

  /// Always ends in exactly one report, even if the connection breaks.
  func store(_ store: FleetStore) {
    let order = Order(store: store, claim: claims.takeClaim(of: store.serial), since: server.loop.now)
    guard server.bytesInLine + order.bytes <= Self.mostInLine else {
      return endOrder(order, .refused("too much else waits to be sent to the server"))
    }
    line.append(order)
    server.bytesInLine += order.bytes
    sendNext()
  }

  private func sendNext() {
    while bytesUnderWay < Self.mostUnderWay, let order = line.popFirst() {
      server.bytesInLine -= order.bytes
      send(order)
    }
  }

  private func send(_ order: Order) {
    do throws(Hindrance) {
      let command = command(order, try front(of: order))
      try send(command, for: order) { [unowned self] reply in
        bytesUnderWay -= order.bytes
        if order.isLarge { renewal?.cancel() }
        hear(reply, to: order)
        sendNext()
      }
      bytesUnderWay += order.bytes
      if order.isLarge, let claim = order.claim { renewLater(claim) }
    } catch { endOrder(order, error.outcome) }
  }

  private func send(_ command: RedisCommand, for order: Order, then: @escaping (RedisReply) -> Void) throws(Hindrance) {
    guard order.isLarge else { return server.send(command, then: then) }
    let limits = RedisConnection.Limits(reply: Self.commandBytes, output: 2 * Self.commandBytes + mostBytes)
    guard let connection = side.use(limits) else { throw Hindrance(outcome: .refused(Self.noConnection)) }
    connection.send(command) { [unowned self] reply in
      side.closeSoon()
      then(reply)
    }
  }

  /// No other large picture is sent meanwhile.
  private func renewLater(_ claim: PictureClaim) {
    renewal = server.loop.schedule(after: .milliseconds(PictureClaim.lifetime / 3)) { [unowned self] in
      server.order(claim.renewal(in: server.keys))
      renewLater(claim)
    }
  }

  private var mostBytes: Int { FleetValue.mostBytes(picture: server.settings.maxObject) }

  /// Ends what is under way: the server cannot be used.
  func leave() { side.close() }

  /// Gives the claims of waiting pictures back: nobody may wait for a picture that will not come.
  func stop() {
    while let order = line.popFirst() { if let claim = order.claim { claims.giveBack(claim) } }
    leave()
  }

  /// Deletes a picture; if that fails, the picture stays until it expires.
  func remove(_ digest: KeyDigest) {
    guard server.isWritable else { return }
    let command = FleetScript.remove.command(
      keys: [server.keys.picture(digest)], [String(server.settings.layout)])
    server.order(command)
    // Behind one that is still on its way there.
    side.current?.send(command) { _ in }
  }

  private func front(of order: Order) throws(Hindrance) -> [UInt8] {
    let store = order.store
    guard server.isWritable else {
      throw Hindrance(outcome: .refused(server.state.reason ?? "the server is not connected"))
    }
    // The data for which it was fetched are gone, and perhaps with them a purge that meant it.
    guard store.mark.generation == server.generation else { throw Hindrance(outcome: .overtaken) }
    guard store.payload.count <= server.settings.maxObject else { throw Hindrance(outcome: .tooLarge) }
    let asked = time(of: order)
    let value = FleetValue(
      begunAt: asked - store.begunAgo.milliseconds, storedAt: asked - store.age.milliseconds, mark: store.mark,
      stamp: .random(in: .min ... .max), record: store.record, payload: store.payload)
    guard value.layout <= server.settings.layout, let front = value.front else { throw Hindrance(outcome: .tooLarge) }
    guard server.hasRoom(for: front.count + order.bytes + Self.commandBytes) else {
      throw Hindrance(outcome: .refused("too much else waits to be sent to the server"))
    }
    return front
  }

  /// When the order was given, by the server's clock.
  private func time(of order: Order) -> Int64 { server.clock.time(at: order.since) }

  private func command(_ order: Order, _ front: [UInt8]) -> RedisCommand {
    let (store, keys) = (order.store, server.keys)
    let digest = store.record.digest
    let lifetime = String(max(store.lifetime.milliseconds, 1))
    let layout = String(server.settings.layout)
    var command =
      if let claim = order.claim {
        FleetScript.store.command(
          keys: [claim.key(in: keys), keys.picture(claim.digest), keys.wake(claim.digest)],
          [claim.token, lifetime, layout])
      } else {
        FleetScript.storeUnclaimed.command(
          keys: [keys.picture(digest), keys.wake(digest)],
          [String(max(time(of: order) - store.begunAgo.milliseconds, 0)), lifetime, layout])
      }
    command.add(front, store.payload)
    return command
  }

  private func hear(_ reply: RedisReply, to order: Order) {
    switch reply {
    case .number(1): server.report(.stored(serial: order.store.serial, .kept))
    case .number: server.report(.stored(serial: order.store.serial, .overtaken))
    case .failure(let text):
      endOrder(order, .refused(text))
      server.said(text)
    default: server.report(.stored(serial: order.store.serial, .refused(Self.noConnection)))
    }
  }

  /// Ends an order whose picture is not stored, so that no host waits for the picture any longer.
  private func endOrder(_ order: Order, _ outcome: FleetStoring) {
    if let claim = order.claim { claims.giveBack(claim) }
    server.report(.stored(serial: order.store.serial, outcome))
  }
}
