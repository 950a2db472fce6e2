internal import ImgdSystem

/// Holds the objects of the fleet's thread, and passes each message to the one that it is for.
final class FleetDesk {
  // The thread owns the loop, which owns the mailbox, which owns this desk.
  private unowned let loop: EventLoop
  private let server: FleetServer
  private let claims: Claims
  private let looks: Looks
  private let stores: Stores
  private let purges: PurgeSender

  init(
    loop: EventLoop, settings: FleetSettings, connect: @escaping Connect = RedisConnection.init(to:on:limits:),
    report: @escaping (FleetEvent) -> Void
  ) {
    self.loop = loop
    server = FleetServer(loop: loop, settings: settings, connect: connect, report: report)
    claims = Claims(server)
    looks = Looks(server, claims, report: report)
    stores = Stores(server, claims, report: report)
    purges = PurgeSender(server, report: report)
    server.onLeave = { [unowned self] in looks.failAll() }
    server.attempt()
  }

  func receive(_ message: FleetMessage) {
    switch message {
    case .join(let position): server.join(from: position)
    case .look(let look): looks.begin(look)
    case .claim(let serial, let digest, let stamp): looks.begin(serial: serial, digest, replacing: stamp)
    case .renew(let serial): claims.renew(serial)
    case .release(let serial, let removing): if !looks.drop(serial) { claims.release(serial, removing: removing) }
    case .remove(let digest): stores.remove(digest)
    case .store(let store): stores.store(store)
    case .send(let purge): purges.send(purge)
    case .apply(let settings): server.apply(settings)
    case .askForLife(let answer): answer()
    case .stop: stop()
    }
  }

  private func stop() {
    looks.stop()
    stores.stop()
    claims.giveAllBack()
    // The commands of this tick are written at its end.
    loop.atTickEnd { [self] in
      server.stop()
      loop.stop()
    }
  }
}
