internal import ImgdCache
internal import ImgdSystem

/// Holds the objects of the fleet's thread, and passes each message to the one that it is for.
final class FleetDesk {
  // The thread owns the loop, which owns the mailbox, which owns this desk.
  private unowned let loop: EventLoop
  private let server: FleetServer
  let pictures: PictureServers
  private let purges: PurgeSender
  private let hosts: HostList

  init(
    loop: EventLoop, settings: FleetSettings, connect: @escaping Connect = RedisConnection.init(to:on:limits:),
    report: @escaping (FleetEvent) -> Void
  ) {
    self.loop = loop
    server = FleetServer(loop: loop, settings: settings, connect: connect, report: report)
    pictures = PictureServers(of: server, settings, on: loop, connect: connect)
    purges = PurgeSender(server, pictures)
    hosts = HostList(server)
    server.link.attempt()
  }

  func receive(_ message: FleetMessage) {
    switch message {
    case .join(let position): server.join(from: position)
    case .look(let look): pictures.begin(look)
    case .claim(let serial, let digest, let stamp): pictures.begin(serial: serial, digest, replacing: stamp)
    case .renew(let serial): pictures.renew(serial)
    case .release(let serial, let removing): pictures.release(serial, removing: removing)
    case .remove(let digest): pictures.remove(digest)
    case .store(let store): pictures.store(store)
    case .send(let purge): purges.send(purge)
    case .announce(let line): hosts.write(line)
    case .askForHosts: hosts.read()
    case .apply(let maxObject, let timeout):
      server.apply(maxObject: maxObject, timeout: timeout)
      pictures.apply(maxObject: maxObject)
    case .askForLife(let answer): answer()
    case .stop:
      pictures.stop()
      hosts.remove()
      // The commands of this tick are written at its end.
      loop.atTickEnd { [self] in
        server.stop()
        pictures.disconnect()
        loop.stop()
      }
    }
  }
}
